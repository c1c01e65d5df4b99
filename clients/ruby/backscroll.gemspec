# frozen_string_literal: true

# For a Gemfile that names this folder: gem "backscroll", path: "…/clients/ruby"
Gem::Specification.new do |spec|
  spec.name = "backscroll"
  spec.version = "0.1.0"
  spec.summary = "The few messages of a chat that a model must see"
  spec.authors = ["The Backscroll authors"]
  spec.license = "Apache-2.0"
  spec.required_ruby_version = ">= 3.0"
  spec.files = Dir.chdir(__dir__) { Dir["lib/**/*.rb"] }
  spec.add_dependency "google-protobuf", ">= 3.21"
  spec.add_dependency "googleapis-common-protos-types", ">= 1.4"
  spec.add_dependency "grpc", ">= 1.51"
end

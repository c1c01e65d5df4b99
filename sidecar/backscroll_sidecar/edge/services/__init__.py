"""The servicers: translate, ask the service below, translate."""

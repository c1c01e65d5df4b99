// Package clients holds what generates the stubs of Backscroll's contract; they are in backscroll/v1.
package clients

//go:generate buf generate

"""Kernel Tuner's interface, carried out by fa-tune."""

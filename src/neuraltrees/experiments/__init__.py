"""Stage 6: experiments."""

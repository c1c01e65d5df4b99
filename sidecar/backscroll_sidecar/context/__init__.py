"""The path of BuildContext, top to bottom: route, gather, rank, select, compress, assemble, adapt."""

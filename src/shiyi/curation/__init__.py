"""Curation: experts review, mend and extend the knowledge; every change is named and reversible."""

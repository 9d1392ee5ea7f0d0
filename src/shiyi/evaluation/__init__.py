"""How good the answers are: question sets, readers without a model, metrics, baselines, tables."""

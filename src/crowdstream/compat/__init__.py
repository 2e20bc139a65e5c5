"""Other libraries' verbs over our estimators and baselines; import a module by its name."""

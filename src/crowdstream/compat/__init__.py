"""Other libraries' verbs over our estimators, a module per library, which needs that library."""

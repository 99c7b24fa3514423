// HTTPCaching

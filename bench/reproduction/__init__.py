# SPDX-License-Identifier: Apache-2.0
"""The figures and tables of the five papers, item by item. bench/reproduce runs them; item.py says what an item is."""

# SPDX-License-Identifier: Apache-2.0
"""Other programs beside ours."""

"""Files to title trees and passages."""

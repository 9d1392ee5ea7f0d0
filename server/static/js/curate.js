/* keyboard review and other small aids; every desk works without it */

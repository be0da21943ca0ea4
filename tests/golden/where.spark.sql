-- cluster 1: 146 rows, 41.8 %
(
  (`alcohol` > 12.85D AND `alcohol` <= CAST('Infinity' AS DOUBLE) AND `colour intensity (%)` <= 1e-07D)
  OR (`alcohol` <= 12.85D AND `order` <= 1200 AND `odd "name" ``x`` | <b>
-- */` > -0.25D AND `odd "name" ``x`` | <b>
-- */` <= CAST('Infinity' AS DOUBLE))
)

-- cluster 4: 105 rows, 30.1 %
(
  (`alcohol` > 12.85D AND `alcohol` <= CAST('Infinity' AS DOUBLE) AND `colour intensity (%)` > 3.5D AND `colour intensity (%)` <= CAST('Infinity' AS DOUBLE))
  OR (`alcohol` > 12.85D AND `alcohol` <= CAST('Infinity' AS DOUBLE) AND `colour intensity (%)` > 1e-07D AND `colour intensity (%)` <= 3.5D)
)

-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6 %
`alcohol` <= 12.85D AND `order` > 1200 AND `order` <= CAST('Infinity' AS DOUBLE)

-- cluster 0 (small orders): 12 rows, 3.4 %
`alcohol` <= 12.85D AND `order` <= 1200 AND `odd "name" ``x`` | <b>
-- */` <= -0.25D

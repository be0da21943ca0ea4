-- cluster 1: 146 rows, 41.8 %
(
  (`alcohol` > 12.85 AND `alcohol` <= 9e999 AND `colour intensity (%)` <= 1e-07)
  OR (`alcohol` <= 12.85 AND `order` <= 1200 AND `odd "name" ``x`` | <b>
-- */` > -0.25 AND `odd "name" ``x`` | <b>
-- */` <= 9e999)
)

-- cluster 4: 105 rows, 30.1 %
(
  (`alcohol` > 12.85 AND `alcohol` <= 9e999 AND `colour intensity (%)` > 3.5 AND `colour intensity (%)` <= 9e999)
  OR (`alcohol` > 12.85 AND `alcohol` <= 9e999 AND `colour intensity (%)` > 1e-07 AND `colour intensity (%)` <= 3.5)
)

-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6 %
`alcohol` <= 12.85 AND `order` > 1200 AND `order` <= 9e999

-- cluster 0 (small orders): 12 rows, 3.4 %
`alcohol` <= 12.85 AND `order` <= 1200 AND `odd "name" ``x`` | <b>
-- */` <= -0.25

-- Written by shallowrules 0.2.0 from the rules with SHA-256 d807141fb0939c2d7deb2c9f5170aefd203d418c50d2642937bc72d921bb42ca.
-- 349 rows, 4 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches is in no cluster.

-- cluster 1: 146 rows, 41.8%
(
  (`alcohol` > 12.85 AND `colour intensity %` <= 1e-07)
  OR (`alcohol` <= 12.85 AND `order` <= 1200 AND `odd name x | <b>-- ` > -0.25)
)

-- cluster 4: 105 rows, 30.1%
(
  (`alcohol` > 12.85 AND `colour intensity %` > 3.5)
  OR (`alcohol` > 12.85 AND `colour intensity %` > 1e-07 AND `colour intensity %` <= 3.5)
)

-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6%
`alcohol` <= 12.85 AND `order` > 1200

-- cluster 0 (small orders): 12 rows, 3.4%
`alcohol` <= 12.85 AND `order` <= 1200 AND `odd name x | <b>-- ` <= -0.25

-- Written by shallowrules 0.2.0 from the rules with SHA-256 d807141fb0939c2d7deb2c9f5170aefd203d418c50d2642937bc72d921bb42ca.
-- 349 rows, 4 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
-- A rule that tests a column does not match a row without a value in it.
-- A row that no rule matches gets NULL.
-- A branch relies on those before it: keep their order.
-- cluster 1: 146 rows, 41.8%
-- cluster 4: 105 rows, 30.1%
-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6%
-- cluster 0 (small orders): 12 rows, 3.4%
CASE
  WHEN `alcohol` IS NULL OR IS_NAN(`alcohol`) THEN NULL
  WHEN `alcohol` <= 12.85 AND (`order` IS NULL OR IS_NAN(`order`)) THEN NULL
  WHEN `alcohol` <= 12.85 AND `order` > 1200 THEN 2
  WHEN `alcohol` <= 12.85 AND (`odd name x | <b>-- ` IS NULL OR IS_NAN(`odd name x | <b>-- `)) THEN NULL
  WHEN `alcohol` <= 12.85 AND `odd name x | <b>-- ` <= -0.25 THEN 0
  WHEN `alcohol` <= 12.85 THEN 1
  WHEN `colour intensity %` IS NULL OR IS_NAN(`colour intensity %`) THEN NULL
  WHEN `colour intensity %` > 3.5 THEN 4
  WHEN `colour intensity %` <= 1e-07 THEN 1
  ELSE 4
END

-- cluster 1: 146 rows, 41.8 %
-- cluster 4: 105 rows, 30.1 %
-- cluster 2 (#2 *large* -- DROP): 86 rows, 24.6 %
-- cluster 0 (small orders): 12 rows, 3.4 %
-- To run once the table is loaded: rows by cluster, as in training or not; rows without a cluster; and texts in tested
-- columns that no training row had, without the spaces around them.
WITH "labels" AS (
  SELECT
    CASE
      WHEN "alcohol" > 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "colour intensity (%)" <= 1e-07 AND (isfinite("colour intensity (%)") OR isinf("colour intensity (%)")) THEN 1
      WHEN "alcohol" <= 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "order" <= 1200 AND (isfinite("order") OR isinf("order")) AND "odd ""name"" `x` | <b>
-- */" > -0.25e0 AND (isfinite("odd ""name"" `x` | <b>
-- */") OR isinf("odd ""name"" `x` | <b>
-- */")) THEN 1
      WHEN "alcohol" > 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "colour intensity (%)" > 3.5e0 AND (isfinite("colour intensity (%)") OR isinf("colour intensity (%)")) THEN 4
      WHEN "alcohol" > 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "colour intensity (%)" > 1e-07 AND "colour intensity (%)" <= 3.5e0 AND isfinite("colour intensity (%)") THEN 4
      WHEN "alcohol" <= 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "order" > 1200 AND (isfinite("order") OR isinf("order")) THEN 2
      WHEN "alcohol" <= 12.85e0 AND (isfinite("alcohol") OR isinf("alcohol")) AND "order" <= 1200 AND (isfinite("order") OR isinf("order")) AND "odd ""name"" `x` | <b>
-- */" <= -0.25e0 AND (isfinite("odd ""name"" `x` | <b>
-- */") OR isinf("odd ""name"" `x` | <b>
-- */")) THEN 0
    END AS "label"
  FROM "shop"."customers"
), "counts" AS (
  SELECT "label", COUNT(*) AS "n"
  FROM "labels"
  GROUP BY "label"
)
SELECT
  'rows of a cluster' AS "finding",
  '1' AS "value",
  COALESCE(SUM("n"), 0) AS "rows_found",
  146 AS "rows_in_training",
  COALESCE(SUM("n"), 0) * 1.0 / NULLIF((SELECT SUM("n") FROM "counts"), 0) AS "share_found",
  0.418338 AS "share_in_training"
FROM "counts"
WHERE "label" = 1
UNION ALL
SELECT
  'rows of a cluster' AS "finding",
  '4' AS "value",
  COALESCE(SUM("n"), 0) AS "rows_found",
  105 AS "rows_in_training",
  COALESCE(SUM("n"), 0) * 1.0 / NULLIF((SELECT SUM("n") FROM "counts"), 0) AS "share_found",
  0.300860 AS "share_in_training"
FROM "counts"
WHERE "label" = 4
UNION ALL
SELECT
  'rows of a cluster' AS "finding",
  '2 (#2 *large* -- DROP)' AS "value",
  COALESCE(SUM("n"), 0) AS "rows_found",
  86 AS "rows_in_training",
  COALESCE(SUM("n"), 0) * 1.0 / NULLIF((SELECT SUM("n") FROM "counts"), 0) AS "share_found",
  0.246418 AS "share_in_training"
FROM "counts"
WHERE "label" = 2
UNION ALL
SELECT
  'rows of a cluster' AS "finding",
  '0 (small orders)' AS "value",
  COALESCE(SUM("n"), 0) AS "rows_found",
  12 AS "rows_in_training",
  COALESCE(SUM("n"), 0) * 1.0 / NULLIF((SELECT SUM("n") FROM "counts"), 0) AS "share_found",
  0.034384 AS "share_in_training"
FROM "counts"
WHERE "label" = 0
UNION ALL
SELECT 'rows without a cluster', '-', COALESCE(SUM("n"), 0), 0, COALESCE(SUM("n"), 0) * 1.0 / NULLIF((SELECT SUM("n") FROM "counts"), 0), 0.0
FROM "counts"
WHERE "label" IS NULL

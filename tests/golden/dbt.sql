{{ config(materialized='incremental', unique_key=['"id"'], on_schema_change='fail') }}
WITH rows_to_label AS (
  SELECT candidate.*
  FROM {{ source('shop', 'customers') }} AS candidate
  {% if is_incremental() %}
    WHERE
      NOT EXISTS (SELECT 1 FROM {{ this }} AS labelled WHERE labelled."id" = candidate."id")
      OR candidate."seen" >= (SELECT MAX(labelled."seen") FROM {{ this }} AS labelled)
  {% endif %}
),

labelled_rows AS (
  -- Written by shallowrules 0.2.0 from the rules with SHA-256 de0ebd5f1e4c470c8c647f152c552e7c892da68b6718c2e2d03b4742c6a9f1f7.
  -- 99 rows, 3 clusters; k-means cost 1.029 times that of the clusters without rules; 96.2% of rows in the same cluster.
  -- A rule that tests a column does not match a row without a value in it.
  -- A row that no rule matches gets NULL.
  -- Written for the types that the table's columns have, and for a table, not for a view of files: export again if one of them changes.
  -- cluster 2: 49 rows, 49.5%
  -- cluster 0: 38 rows, 38.4%
  -- cluster 1: 12 rows, 12.1%
  SELECT
    "row",
    "id",
    "seen",
    "x",
    "i",
    CASE
      WHEN "x" > 0.5 AND "i" > 3 AND "x" <= CAST('Infinity' AS DOUBLE PRECISION) THEN 2
      WHEN "x" <= 0.5 THEN 0
      WHEN "x" > 0.5 AND "i" <= 3 AND "x" <= CAST('Infinity' AS DOUBLE PRECISION) THEN 1
    END AS "cluster"
  FROM rows_to_label
)

SELECT
  "row",
  "id",
  "seen",
  "x",
  "i",
  CAST("cluster" AS TINYINT) AS "cluster"
FROM labelled_rows

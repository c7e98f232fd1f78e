-- TPC-C as TailBench's shore asks it, cut to its two writing transactions: tables, rows, functions.
--
-- Everything is drawn from numbers, never from random(): request n always asks the same of the database,
-- and what it must answer is computed anew by answers.py. The server reads this file in single-user mode,
-- where a semicolon and an empty line end a command: there are no empty lines within one.
-- @WAREHOUSES@, @CUSTOMERS@ (in a district) and @ITEMS@ are put in by cluster.py.
-- Source: TPC Benchmark C, Standard Specification 5.11: 1.3 (tables), 2.4 (New-Order), 2.5 (Payment),
-- 3.3.2 (consistency), 4.3.3 (population). Left out, and said in docs/howto/postgres.md: customers by name,
-- orders that are rolled back, and the three transactions that only read or deliver.

-- The last of two rounds of Lehmer's generator, mixed. Single expressions, so that they are put in place.
CREATE FUNCTION mixed(b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ((b # (b >> 15)) * 69621 % 2147483647) >> 3
$$;

-- A number in [0, m): the k-th draw of n, for n below 4 * 10^9.
CREATE FUNCTION draw(n bigint, k int, m int) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (mixed((n * 1103515245 + k::bigint * 12345678 + 1) % 2147483647 * 48271 % 2147483647) % m)::int
$$;

-- NURand(a, 1, m) of clause 2.1.6: some customers and items are asked for far more often than others.
CREATE FUNCTION skewed(n bigint, k int, a int, m int) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT ((draw(n, k, a + 1) | (1 + draw(n, k + 1, m))) + 42) % m + 1
$$;

-- Another warehouse than w, by the k-th draw of n; w itself where there is no other.
CREATE FUNCTION elsewhere(n bigint, k int, w int) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 1 + (w + draw(n, k, greatest(@WAREHOUSES@ - 1, 1))) % @WAREHOUSES@
$$;

CREATE TABLE warehouse (
  w_id int PRIMARY KEY, w_name text, w_street text, w_city text, w_zip text,
  w_tax numeric(4, 4), w_ytd numeric(14, 2)
) WITH (fillfactor = 50);

CREATE TABLE district (
  d_w_id int, d_id int, d_name text, d_street text, d_city text, d_zip text,
  d_tax numeric(4, 4), d_ytd numeric(14, 2), d_next_o_id int, PRIMARY KEY (d_w_id, d_id)
) WITH (fillfactor = 50);

CREATE TABLE customer (
  c_w_id int, c_d_id int, c_id int, c_first text, c_last text, c_street text, c_city text, c_zip text,
  c_phone text, c_since timestamptz, c_credit text, c_discount numeric(4, 4), c_balance numeric(14, 2),
  c_ytd_payment numeric(14, 2), c_payment_cnt int, c_delivery_cnt int, c_data text,
  PRIMARY KEY (c_w_id, c_d_id, c_id)
);

CREATE TABLE history (
  h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamptz,
  h_amount numeric(8, 2), h_data text
);

CREATE TABLE item (i_id int PRIMARY KEY, i_im_id int, i_name text, i_price numeric(5, 2), i_data text);

CREATE TABLE stock (
  s_w_id int, s_i_id int, s_quantity int, s_ytd int, s_order_cnt int, s_remote_cnt int,
  s_dists text, s_data text, PRIMARY KEY (s_w_id, s_i_id)
);

CREATE TABLE orders (
  o_w_id int, o_d_id int, o_id int, o_c_id int, o_entry_d timestamptz, o_carrier_id int,
  o_ol_cnt int, o_all_local int, PRIMARY KEY (o_w_id, o_d_id, o_id)
);

CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id));

CREATE TABLE order_line (
  ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int, ol_supply_w_id int,
  ol_delivery_d timestamptz, ol_quantity int, ol_amount numeric(8, 2), ol_dist_info text,
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)
);

INSERT INTO item
  SELECT i, 1 + draw(i, 51, 10000), left(md5('item' || i), 20), (100 + draw(i, 50, 9901))::numeric / 100,
    left(md5('data' || i) || md5('more' || i), 40)
  FROM generate_series(1, @ITEMS@) AS i;

INSERT INTO warehouse
  SELECT w, 'w' || w, md5('street' || w), md5('city' || w), '123456789',
    draw(w, 60, 2001)::numeric / 10000, 300000
  FROM generate_series(1, @WAREHOUSES@) AS w;

INSERT INTO district
  SELECT w, d, 'd' || d, md5('street' || d), md5('city' || d), '123456789',
    draw(w * 100 + d, 61, 2001)::numeric / 10000, 30000, @CUSTOMERS@ + 1
  FROM generate_series(1, @WAREHOUSES@) AS w, generate_series(1, 10) AS d;

INSERT INTO customer
  SELECT w, d, c, left(md5('first' || c), 12), left(md5('last' || c % 1000), 12), md5('street' || c),
    md5('city' || c), '123456789', left(md5('phone' || c), 16), now(),
    CASE WHEN draw(c, 63, 10) = 0 THEN 'BC' ELSE 'GC' END,
    draw((w * 100 + d) * 10000::bigint + c, 62, 5001)::numeric / 10000, -10, 10, 1, 0,
    repeat(md5('data' || c), 12)
  FROM generate_series(1, @WAREHOUSES@) AS w, generate_series(1, 10) AS d,
    generate_series(1, @CUSTOMERS@) AS c;

INSERT INTO history
  SELECT c_id, c_d_id, c_w_id, c_d_id, c_w_id, now(), 10, 'initial' FROM customer;

INSERT INTO stock
  SELECT w, i, 10 + draw(i, 64, 91), 0, 0, 0, repeat(left(md5('dist' || i), 24), 10),
    left(md5('data' || i) || md5('more' || i), 40)
  FROM generate_series(1, @WAREHOUSES@) AS w, generate_series(1, @ITEMS@) AS i;

INSERT INTO orders
  SELECT c_w_id, c_d_id, c_id, 1 + c_id * 7 % @CUSTOMERS@, now(),
    CASE WHEN c_id * 10 <= @CUSTOMERS@ * 7 THEN 1 + c_id % 10 END, 5 + draw(c_id, 65, 11), 1
  FROM customer;

INSERT INTO new_order
  SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_carrier_id IS NULL;

INSERT INTO order_line
  SELECT o_w_id, o_d_id, o_id, l, 1 + draw(o_id * 16 + l, 66, @ITEMS@), o_w_id,
    CASE WHEN o_carrier_id IS NOT NULL THEN o_entry_d END, 5, 0, left(md5('dist' || l), 24)
  FROM orders, generate_series(1, o_ol_cnt) AS l;

-- What request n orders, the lines in the order in which they are locked, so that no two orders wait for
-- each other. One line in a hundred comes from another warehouse, where there is one (2.4.1.5).
CREATE FUNCTION lines_of(n bigint, w int) RETURNS TABLE (number int, i_id int, supply int, quantity int)
LANGUAGE sql IMMUTABLE AS $$
  SELECT l, skewed(n, 100 * l, 8191, @ITEMS@),
    CASE WHEN draw(n, 100 * l + 2, 100) = 0 THEN elsewhere(n, 100 * l + 3, w) ELSE w END,
    1 + draw(n, 100 * l + 4, 10)
  FROM generate_series(1, 5 + draw(n, 4, 11)) AS l ORDER BY 3, 2, 1
$$;

CREATE FUNCTION place_order(n bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  w int := 1 + draw(n, 1, @WAREHOUSES@);
  d int := 1 + draw(n, 2, 10);
  c int := skewed(n, 10, 1023, @CUSTOMERS@);
  wanted int := 5 + draw(n, 4, 11);
  o int;
  discount numeric;
  tax numeric;
  more_tax numeric;
  price numeric;
  dists text;
  total numeric := 0;
  is_local boolean := true;
  line record;
BEGIN
  SELECT c_discount, w_tax INTO STRICT discount, tax FROM customer, warehouse
    WHERE w_id = w AND c_w_id = w AND c_d_id = d AND c_id = c;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d
    RETURNING d_next_o_id - 1, d_tax INTO STRICT o, more_tax;
  FOR line IN SELECT * FROM lines_of(n, w) LOOP
    SELECT i_price INTO STRICT price FROM item WHERE i_id = line.i_id;
    UPDATE stock SET
        s_quantity = CASE WHEN s_quantity >= line.quantity + 10 THEN s_quantity - line.quantity
          ELSE s_quantity - line.quantity + 91 END,
        s_ytd = s_ytd + line.quantity, s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + (line.supply <> w)::int
      WHERE s_w_id = line.supply AND s_i_id = line.i_id RETURNING s_dists INTO STRICT dists;
    INSERT INTO order_line VALUES (w, d, o, line.number, line.i_id, line.supply, NULL, line.quantity,
      price * line.quantity, substr(dists, d * 24 - 23, 24));
    total := total + price * line.quantity;
    is_local := is_local AND line.supply = w;
  END LOOP;
  INSERT INTO orders VALUES (w, d, o, c, now(), NULL, wanted, is_local::int);
  INSERT INTO new_order VALUES (w, d, o);
  total := round(total * (1 - discount) * (1 + tax + more_tax), 2);
  RETURN format('new-order %s w %s d %s c %s o %s lines %s total %s', n, w, d, c, o, wanted, total);
END
$$;

CREATE FUNCTION pay(n bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  w int := 1 + draw(n, 1, @WAREHOUSES@);
  d int := 1 + draw(n, 2, 10);
  is_remote boolean := draw(n, 3, 100) < 15;
  cw int := CASE WHEN is_remote THEN elsewhere(n, 5, w) ELSE w END;
  cd int := CASE WHEN is_remote THEN 1 + draw(n, 6, 10) ELSE d END;
  c int := skewed(n, 10, 1023, @CUSTOMERS@);
  amount numeric := (100 + draw(n, 7, 499901))::numeric / 100;
  named text;
  other text;
BEGIN
  UPDATE warehouse SET w_ytd = w_ytd + amount WHERE w_id = w RETURNING w_name INTO STRICT named;
  UPDATE district SET d_ytd = d_ytd + amount WHERE d_w_id = w AND d_id = d
    RETURNING d_name INTO STRICT other;
  UPDATE customer SET c_balance = c_balance - amount, c_ytd_payment = c_ytd_payment + amount,
      c_payment_cnt = c_payment_cnt + 1,
      c_data = CASE c_credit WHEN 'BC' THEN left(format('%s %s %s %s %s %s|', c, cd, cw, d, w, amount)
        || c_data, 500) ELSE c_data END
    WHERE c_w_id = cw AND c_d_id = cd AND c_id = c;
  IF NOT FOUND THEN
    RAISE 'no customer % in district % of warehouse %', c, cd, cw;
  END IF;
  INSERT INTO history VALUES (c, cd, cw, d, w, now(), amount, named || '    ' || other);
  RETURN format('payment %s w %s d %s cw %s cd %s c %s amount %s', n, w, d, cw, cd, c, round(amount, 2));
END
$$;

-- Request n. New-Order and Payment stand as 45 to 43, as in the standard's mix (5.2.3).
CREATE FUNCTION shore(n bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  IF draw(n, 0, 88) < 45 THEN
    RETURN place_order(n);
  END IF;
  RETURN pay(n);
END
$$;

-- What must hold between transactions, however many there were: the standard's conditions 1 to 4, and that
-- stock and history have seen what orders and warehouses have. One row: done so far, and what does not hold.
CREATE FUNCTION audit() RETURNS text LANGUAGE sql STABLE AS $$
  WITH placed AS (
      SELECT count(*) AS orders, coalesce(sum(o_ol_cnt), 0) AS lines FROM orders WHERE o_id > @CUSTOMERS@),
    listed AS (
      SELECT count(*) AS lines, coalesce(sum(ol_quantity), 0) AS quantity
      FROM order_line WHERE ol_o_id > @CUSTOMERS@),
    moved AS (SELECT sum(s_order_cnt) AS lines, sum(s_ytd) AS quantity FROM stock),
    paid AS (SELECT count(*) AS payments, sum(h_amount) AS amount FROM history WHERE h_data <> 'initial'),
    due AS (
      SELECT d_w_id, d_id, d_next_o_id - 1 AS o_id,
        (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) AS ordered,
        (SELECT max(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id) AS fresh
      FROM district),
    flaws AS (
      SELECT 'w_ytd is not the sum of d_ytd' AS flaw FROM warehouse
        WHERE w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)
      UNION ALL SELECT 'd_next_o_id is not the last order of its district' FROM due
        WHERE o_id <> ordered OR o_id <> fresh
      UNION ALL SELECT 'd_next_o_id does not count the orders' FROM placed
        WHERE orders <> (SELECT sum(d_next_o_id - 1 - @CUSTOMERS@) FROM district)
      UNION ALL SELECT 'o_ol_cnt is not the number of lines' FROM placed, listed
        WHERE placed.lines <> listed.lines
      UNION ALL SELECT 'stock has not seen what was ordered' FROM listed, moved
        WHERE listed.lines <> moved.lines OR listed.quantity <> moved.quantity
      UNION ALL SELECT 'history is not what warehouses were paid' FROM paid
        WHERE coalesce(amount, 0) <> (SELECT sum(w_ytd - 300000) FROM warehouse))
  SELECT format('orders %s payments %s flaws %s', (SELECT orders FROM placed), (SELECT payments FROM paid),
    coalesce((SELECT string_agg(DISTINCT flaw, '; ') FROM flaws), 'none'))
$$;

CREATE ROLE sojourn LOGIN;

GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO sojourn;

VACUUM (FREEZE, ANALYZE);


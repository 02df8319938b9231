-- Runs once, when the volume of PostgreSQL is made: the role that callsync works as, and its database.
-- CREATEROLE is for the roles of receivers, analysts and queries. A superuser could run programs by SQL.
\set password `cat /run/secrets/store_password`
SET log_statement = 'none';
CREATE ROLE callsync LOGIN CREATEROLE PASSWORD :'password';
ALTER ROLE callsync SET createrole_self_grant = 'set, inherit';
CREATE DATABASE callsync OWNER callsync;

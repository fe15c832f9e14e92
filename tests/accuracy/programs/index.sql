-- Rows that come, change and go under three indexes.
create table item(id integer primary key, code text unique, weight integer, place integer);
create index item_weight on item(weight);
create index item_place on item(place, weight);
begin;
with recursive n(i) as (values(1) union all select i + 1 from n where i < 30000)
	insert into item select i, printf('%08x', i * 2654435761 % 4294967296), i * 7919 % 5003, i % 97 from n;
update item set weight = weight + 11 where place < 20;
delete from item where weight % 7 = 3;
update item set place = place * 3 % 101 where id % 5 = 0;
insert or replace into item select id + 100000, code, weight, place from item where id % 9 = 0;
commit;
select count(*), sum(weight) from item where place between 10 and 60;
select sum(weight) from item where code in (select code from item where weight between 100 and 900);

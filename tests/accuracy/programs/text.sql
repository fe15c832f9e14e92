-- Texts: searched by pattern, taken apart, grouped, and as JSON.
create table line(id integer primary key, words text, number integer);
with recursive n(i) as (values(1) union all select i + 1 from n where i < 15000)
	insert into line select i, 'service' || (i % 7) || ' took ' || (i * 7919 % 1009) || ' ms for request ' ||
		printf('%x', i * 40503 % 65536) || case when i % 20 = 0 then ' and failed' else ' and was ok' end, i % 53 from n;
select count(*) from line where words like '%request%a%failed';
select count(*) from line where words glob '*[0-9]f and was*';
select sum(length(replace(upper(words), 'REQUEST', number))) from line;
select max(c) from (select substr(words, 1, instr(words, ' ')) as service, count(*) as c from line group by service);
select sum(json_extract(j, '$.n')) from (select json_object('n', number, 'w', words) as j from line where id % 4 = 0);
select count(distinct substr(words, -20, 9)) from line;

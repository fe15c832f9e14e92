-- Orders and customers: joined, grouped, sorted.
create table customer(id integer primary key, name text, region integer);
create table purchase(id integer primary key, customer integer, amount real, day integer);
with recursive n(i) as (values(1) union all select i + 1 from n where i < 2000)
	insert into customer select i, 'customer ' || (i * 7919 % 2000), i * 31 % 17 from n;
with recursive n(i) as (values(1) union all select i + 1 from n where i < 40000)
	insert into purchase select i, i * 7907 % 2000 + 1, i * 37 % 1000 / 10.0, i * 13 % 365 from n;
create index purchase_customer on purchase(customer);
select sum(total) from (select region, sum(amount) as total from customer join purchase on purchase.customer = customer.id
	group by region order by total desc);
select count(*) from (select name, count(*) as orders, max(amount) from customer join purchase on purchase.customer = customer.id
	where day between 30 and 200 group by customer.id having orders > 5 order by orders, name);
select sum(a.amount * b.amount) from purchase a join purchase b on a.customer = b.customer where a.id % 20 = 0;

#!/usr/bin/perl
# expected.pl RINGS.DATA PROC WORKLOADS - what a replay of the recording must come to, as `perf` and `nm` tell it
#
# Lines of:
#   records NAME COUNT
#   image EVENT IMAGE COUNT                          samples that perf finds in this image
#   procedure EVENT IMAGE NAME START END COUNT       file offsets, of the programs in WORKLOADS
use strict;
use warnings;
no warnings 'portable'; # 64 bits are meant

my ($rings, $proc, $workloads) = @ARGV;
my (%records, %images, %procedures, %symbols, %mapped);

# Where the kernel's text and the modules are.
my (%kernel, @modules);
open my $list, '<', "$proc/kallsyms" or die "$proc/kallsyms: $!";
/^(\w+) \S (_\w+)/ and $kernel{$2} = hex $1 while <$list>;
open $list, '<', "$proc/modules" or die "$proc/modules: $!";
/^(\S+) (\d+) .* 0x(\w+)/ and push @modules, [hex $3, hex($3) + $2, "[$1]"] while <$list>;

sub kernel_image
{
	my $address = shift;

	return '[kernel]' if $address >= $kernel{_stext} && $address < $kernel{_etext};
	$address >= $_->[0] && $address < $_->[1] and return $_->[2] for @modules;
	return '[unknown]';
}

# The functions of a program, as [start, end, name] in file offsets.
sub symbols_of
{
	my $program = shift;
	my ($base, @functions) = (0);

	open my $sections, '-|', 'objdump', '-h', '-j', '.text', $program or die;
	/ \.text +\w+ +(\w+) +\w+ +(\w+)/ and $base = hex($1) - hex($2) while <$sections>;
	open my $names, '-|', 'nm', '--print-size', $program or die;
	/^(\w+) (\w+) t (share_of_\d+)/ and push @functions, [hex($1) - $base, hex($1) - $base + hex($2), $3] while <$names>;
	return \@functions;
}

sub count_procedure
{
	my ($event, $pid, $image, $address) = @_;
	my ($name) = $image =~ m{^/workloads/(\w+)$} or return;
	my $map = $mapped{"$pid $image"} or die "$image is not mapped in $pid";
	my $offset = $address - $map->[0] + $map->[1];

	$symbols{$name} //= symbols_of("$workloads/$name");
	for (@{$symbols{$name}}) {
		my ($start, $end, $function) = @$_;

		$procedures{sprintf '%s %s %s %#x %#x', $event, $image, $function, $start, $end}++
			if $offset >= $start && $offset < $end;
	}
}

open my $stats, '-|', "perf report --stats -i '$rings' 2>/dev/null" or die;
while (<$stats>) {
	last if /^cycles|^instructions|^dummy/ && %records; # those of each event follow
	$records{$1} = $2 if /^ +(\w+) events: +(\d+)/ && $1 ne 'TOTAL';
}

open my $script, '-|', "perf script -i '$rings' --show-mmap-events -F pid,event,ip,dso 2>/dev/null" or die;
while (<$script>) {
	if (m{PERF_RECORD_MMAP2 (\d+)/\d+: \[0x(\w+)\(0x\w+\) @ (?:0x)?(\w+) .*\]: \S+ (.*)$}) {
		$mapped{"$1 $4"} = [hex $2, hex $3];
	} elsif (m{^\s*(-?\d+)\s+(\w[\w-]*)(?::\w*)?:\s+(\w+) \((.*)\)$}) {
		my ($pid, $event, $address, $image) = ($1, $2, hex $3, $4);

		$image = kernel_image($address) if $address >> 63;
		$images{"$event $image"}++;
		count_procedure($event, $pid, $image, $address);
	}
}
print map("records $_ $records{$_}\n", sort keys %records), map("image $_ $images{$_}\n", sort keys %images),
	map("procedure $_ $procedures{$_}\n", sort keys %procedures);

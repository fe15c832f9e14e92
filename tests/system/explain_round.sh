# shellcheck shell=bash
# explain_round.sh BUILD DATABASE SCRATCH "ADDRESS BYTES INSTRUCTIONS PATH" - each form of one procedure, for explain.sh
#
# Prints a line for each that is not right: within the limits, status 0, and an output that is whole. The environment's
# LIMITS are seconds of CPU time and KiB of memory of its own ("30 unlimited"), of each run.
set -u
build=$1 db=$2
read -r address _ _ path <<<"$4"
out=$(mktemp "$3/round.XXXXXX") || exit
trap 'rm -f "$out" "$out".*' EXIT

# complain WHAT COMMAND... - on one line, with the end of what it said
complain()
{
	printf '%s: %s\n' "$*" "$(tail -n 3 "$out.err" | tr '\n' ' ' | cut -c 1-400)"
}

# holds FILTER - is what was printed one object of which that is true?
holds()
{
	jq -es "length == 1 and (.[0] | ($1))" "$out" >/dev/null
}

# No text shows a number that is none.
looks_right()
{
	case $1 in
	dcpicalc*--json*) holds '.schema == "dcpicalc/1" and ([.blocks[].instructions[].samples[]] | add) > 0' ;;
	dcpilist*--json*) holds '.schema == "dcpilist/1" and ([.instructions[].samples[]] | add) > 0' ;;
	*--graph*) [ ! -s "$out" ] && [[ $(head -n 1 "$out.dot") = digraph* ]] && [ "$(tail -n 1 "$out.dot")" = '}' ] ;;
	*) [ -s "$out" ] && ! grep -qE '(^|[ (-])(nan|inf)(cy|CPI|%|[ )]|$)' "$out" ;;
	esac
}

# try TOOL OPTION...
try()
{
	local status

	(
		read -r seconds kib <<<"$LIMITS"
		ulimit -t "$seconds" -d "$kib"
		exec "$build/bin/$1" --db "$db" "$address" "$path" "${@:2}" >"$out" 2>"$out.err"
	)
	status=$?
	if [ $status = 4 ] && [[ $* = *--check* ]] && grep -q 'no exact counts of it' "$out.err"; then
		return
	fi
	if [ $status != 0 ]; then
		complain "status $status" "$1" "$address" "$path" "${@:2}"
	elif ! looks_right "$*"; then
		complain 'not what it should print' "$1" "$address" "$path" "${@:2}"
	fi
}

try dcpicalc --epoch sampled
try dcpicalc --epoch sampled --json
try dcpicalc --epoch sampled --graph "$out.dot"
try dcpicalc --epoch sampled --check --cpu in-order-2
try dcpicalc --epoch sampled --summary --cpu alpha-21164
try dcpilist --epoch sampled
try dcpilist --epoch sampled --json --asm intel

#!/bin/bash
# completion.sh - what bash offers behind dcpiprof, from the database, and that no name in it is taken for a command
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

completions=/usr/share/bash-completion/bash_completion
[ -e $completions ] || {
	skip 'completion of dcpiprof' 'bash-completion is not installed'
	exit 0
}
check 'the database is made' "$build/tests/system/make_database" "$scratch/db" <<'END'
event cpu-clock cycles ns 4000000 yes -
event page-faults:u page-faults:u events 100 yes -
event cache-misses cache-misses events 1000003 no no\x20counters
image user 1111111111111111 /opt/bin/server
image user 2222222222222222 /opt/bin/has\x20space
image user 3333333333333333 /opt/bin/quo'te
image user 4444444444444444 /opt/bin/$(touch${IFS}executed)
image user 5555555555555555 /opt/bin/`touch\x20executed`
image kernel - [kernel]
context server / -
epoch 1795271400 before
count cpu-clock 0 0 0x1000 1
count cpu-clock 1 0 0x1000 1
count cpu-clock 2 0 0x1000 1
count cpu-clock 3 0 0x1000 1
count cpu-clock 4 0 0x1000 1
count cpu-clock 5 0 0x1000 1
slice 1795271400 1795272000
symbols 5 0x1000 start_kernel
END

# offers TOOL [WORD...] - what is offered for the last word, sorted, one a line
offers()
(
	cd "$scratch" || exit
	export DCPI_DB=$scratch/db
	set +u
	# shellcheck source=/dev/null
	. $completions
	# shellcheck source=/dev/null
	. "$top/completions/$1"
	# shellcheck disable=SC2317 # called by what was just read
	compopt() { :; } # it works below readline only

	# shellcheck disable=SC2034 # bash gives these to whoever completes; it takes words apart at "="
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*"
	COMP_LINE=${COMP_LINE// = /=} COMP_POINT=${#COMP_LINE}
	"_$1" "$1" "${*: -1}" "${*: -2:1}"
	printf '%s\n' "${COMPREPLY[@]}" | sort
)

mkdir "$scratch/path"
install -m 755 /dev/null "$scratch/path/valgrind-or-not"
touch "$scratch/big-file"
check_equal 'machines for dcpiloc' 'e5-2699v3 e5-2699v3-2s' "$(DCPI_MACHINES=$top/config/machines offers dcpiloc --try --machine e5-2699 | xargs)"
check_equal 'how programs are compiled for dcpiloc' '--cflags' "$(offers dcpiloc --c | grep -v color)"
check_equal 'an option' '--no-demangle --no-header --no-inline --no-pager' "$(offers dcpiprof --no | paste -sd ' ')"
check_equal 'views of a procedure' '--callees= --callers=' "$(offers dcpiprof --call | paste -sd ' ')"
check_equal 'of which no name is offered' '' "$(offers dcpiprof --callees se)"
check_equal 'an image' server "$(offers dcpiprof --image se)"
check_equal 'an image by its path' /opt/bin/server "$(offers dcpiprof --image /opt/bin/se)"
check_equal 'an image as an argument' '[kernel]' "$(offers dcpiprof '[')"
check_equal 'a name with a blank' 'has space' "$(offers dcpiprof --image has)"
check_equal 'a name with a quote' "quo'te" "$(offers dcpiprof --image "quo\\'")"
check_equal 'names that are commands are not offered' '' "$(offers dcpiprof --image \\\$ && offers dcpiprof --image '`')"
offers dcpiprof --image '' >/dev/null
check 'nor executed' test ! -e "$scratch/executed"
check_equal 'events that were counted' 'cpu-clock page-faults:u' "$(offers dcpiprof --event '' | paste -sd ' ')"
check_equal 'the argument of --color behind its equals sign' always "$(offers dcpiprof --color = al)"
check_equal 'and not as a word of its own' server "$(offers dcpiprof --color ser)"
check_equal 'epochs' 'latest latest-1' "$(offers dcpiprof --epoch la | paste -sd ' ')"
check_equal 'no database, no names' '' "$(offers dcpiprof --db /nowhere --image '')"
check_equal 'a command of dcpictl' epoch "$(offers dcpictl e)"
check_equal 'an option of a command of dcpictl' --label "$(offers dcpictl epoch --la)"
check_equal 'the doctor' doctor "$(offers dcpictl doc)"
check_equal 'formats of the status' '--json --prometheus' "$( (offers dcpictl status --js && offers dcpictl status --pro) | paste -sd ' ')"
check_equal 'an option of dcpictl label' --pid "$(offers dcpictl label run1 --p)"
check_equal 'the program that it runs' valgrind-or-not "$(PATH=$scratch/path:$PATH offers dcpictl label run1 -- valgrind-or)"
check_equal 'its own options and files are its' big-file "$(offers dcpictl label run1 gzip big-)"
check_equal 'an option of dcpilabel' --keep-going "$(offers dcpilabel --ke)"
check_equal 'the program of dcpilabel' valgrind-or-not "$(PATH=$scratch/path:$PATH offers dcpilabel --runs 3 wave5 valgrind-or)"
check_equal 'an option of dcpid' --foreground "$(offers dcpid --fo)"

# dcpicalc: first a procedure, then images.
check_equal 'a procedure' start_kernel "$(offers dcpicalc st)"
check_equal 'behind it, an image' server "$(offers dcpicalc main se)"
check_equal 'also behind options' server "$(offers dcpicalc --cutoff 5 main se)"
check_equal 'a syntax' intel "$(offers dcpicalc --asm i)"
check_equal 'an option of dcpicalc' --summary "$(offers dcpicalc --su)"
check_equal 'of dcpitopstalls, images alone' server "$(offers dcpitopstalls se)"
check_equal 'an option of dcpimport' --no-sums "$(offers dcpimport --no-s)"
check_equal 'an option of dcpitopstalls' --source "$(offers dcpitopstalls --so)"
check_equal 'of dcpicat, too' server "$(offers dcpicat se)"
check_equal 'an option of dcpitar' --no-images "$(offers dcpitar --no)"
check_equal 'of dcpiexport, images' server "$(offers dcpiexport se)"
check_equal 'and its options' --folded= "$(offers dcpiexport --fol)"
check_equal 'an option of dcpicat' --names "$(offers dcpicat --na)"
check_equal 'an option of dcpiflame' --no-script "$(offers dcpiflame --no-s)"
check_equal 'its epochs' latest-1 "$(offers dcpiflame --epoch latest-)"
check_equal 'its file' big-file "$(offers dcpiflame big)"
check_equal 'what dcpitimeline stacks by' command "$(offers dcpitimeline --by co)"
check_equal 'an option of it' --by= "$(offers dcpitimeline --b)"
check_equal 'an option of dcpiweb' --listen= "$(offers dcpiweb --li)"
check_equal 'a place where it listens' 127.0.0.1:8680 "$(offers dcpiweb --listen 127)"
check_equal 'an order of dcpistats' deviation "$(offers dcpistats --sort d)"
check_equal 'events that it may compare' cpu-clock "$(offers dcpistats --event cpu)"
check_equal 'of dcpidiff, what is compared' frequency "$(offers dcpidiff --compare f)"
check_equal 'and images' server "$(offers dcpidiff --image se)"
check_equal 'an option of dcpidiff' --marked "$(offers dcpidiff --ma)"
check_equal 'a procedure of dcpidiff' start_kernel "$(offers dcpidiff --epoch 1 --epoch 2 st)"
check_equal 'what dcpiwhatcg may list procedures by' 'Branch mispredict' "$(offers dcpiwhatcg --stall B)"
check_equal 'a model' intel-skylake "$(DCPI_CPUS=$top/config/cpus offers dcpicalc --cpu intel-sk)"
check_equal 'a command of dcpiemu' sweep "$(offers dcpiemu sw)"
check_equal 'an option of it' --show-output "$(offers dcpiemu sweep --sh)"
check_equal 'a machine that is described' e5-2603v1 "$(DCPI_MACHINES=$top/config/machines offers dcpiemu run --machine e5-260)"
check_equal 'a part of the model' truth "$(offers dcpiemu run --model tr)"
check_equal 'a command of dcpimem' objects "$(offers dcpimem objects)"
check_equal 'another one' import "$(offers dcpimem im)"
touch "$scratch/perf.data"
check_equal 'a recording for it' perf.data "$(offers dcpimem import perf)"
check_equal 'an option of one' --each "$(offers dcpimem objects --ea)"
check_equal 'a machine for it' opteron-6174-2s "$(DCPI_MACHINES=$top/config/machines offers dcpimem run --machine opt)"
check_equal 'a script for it that is installed' handovers.lua "$(DCPI_SCRIPTS=$top/config/scripts offers dcpimem script hand)"
touch "$scratch/handy.lua"
check_equal 'or one that is here, after an option' handy.lua "$(offers dcpimem script --epoch 1 handy)"
check_equal 'an option of that command' --epoch= "$(offers dcpimem script --ep)"
check_equal 'a file for the script' perf.data "$(offers dcpimem script gaps.lua perf)"
check_equal 'the program that dcpiemu runs' valgrind-or-not \
	"$(PATH=$scratch/path:$PATH offers dcpiemu run --machine e5-2699v3 valgrind-or)"

[ $failures = 0 ]

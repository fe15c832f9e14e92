/*
 * pass.cc - a plugin for GCC: what it knows of loops and their references is given to the run-time library
 *
 * It runs behind the vectoriser, in the compilers of C, C++ and Fortran. Of a loop whose number of iterations is known
 * when it is entered, and whose references all have a base and a stride, or an index that is read from such a reference
 * (a gather or scatter), it writes these where the loop is entered. A loop of such references that may end early has
 * them where it is left. Of other loops each reference says its address. All of that is behind a countdown of the
 * thread, dcpi_locality_left: while it is not negative, a loop costs a subtraction and a branch where it is entered, or
 * one of each an iteration. In loops that call nothing of the program the countdown is in a register.
 *
 * Loaded by a name that ends in "-source", it runs behind `ssa` instead: before anything is inlined or optimized,
 * without optimization too. Then it also writes which basic blocks a function has, and where calls of it begin.
 *
 * The texts that describe loops are in the program, and locality/record.h says how they look. This is the only file in
 * C++, as the headers of GCC are.
 */
#include "gcc-plugin.h"
#include "plugin-version.h"

#include "config.h"
#include "system.h"
#include "coretypes.h"
#include "backend.h"
#include "tree.h"
#include "gimple.h"
#include "tree-pass.h"
#include "ssa.h"
#include "gimple-pretty-print.h"
#include "fold-const.h"
#include "gimplify.h"
#include "gimple-iterator.h"
#include "gimplify-me.h"
#include "cfgloop.h"
#include "predict.h"
#include "tree-cfg.h"
#include "tree-into-ssa.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-niter.h"
#include "tree-ssa-loop-manip.h"
#include "tree-chrec.h"
#include "tree-scalar-evolution.h"
#include "tree-data-ref.h"
#include "tree-affine.h"
#include "dominance.h"
#include "stringpool.h"
#include "attribs.h"
#include "diagnostic-core.h"
#include "context.h"
#include "cgraph.h"
#include "varasm.h"

#include "compiler/calls.h"

#pragma GCC visibility push(default)
int plugin_is_GPL_compatible;
#pragma GCC visibility pop

namespace
{

const unsigned REFERENCES_MAX = 64; /* of a loop: others are not described */
const unsigned LARGE_BLOCKS = 16;   /* of a loop, with those in it: leave_out_rare() */
const unsigned LEVELS_MAX = 4;      /* of a nest, as calls.h has it */
const unsigned BEHIND = 128;        /* in a level, as record.h has it */
const unsigned WITHIN = 64;         /* likewise */
/* What a loop's iterations hand on to the next in registers, as record.h has it. */
const unsigned CARRIES_SUMS = 1, CARRIES_OTHER = 2;
const unsigned CARRIED_MAX = 32;       /* values that one becomes in an iteration */
const unsigned EXPRESSION_DEPTH = 12;  /* of what is calculated outside a loop */
const unsigned COPIED_STATEMENTS = 64; /* of a loop in two versions, at most */
const char SOURCE_NAME[] = "-source";  /* ends the plugin's name that looks at the source */

/* ---- what is called ---- */

struct callees {
	tree left, nest, part, loop, stream, gather, touch, counted;
};

callees callee;

/* The collector of GCC keeps what it can reach from here. */
const struct ggc_root_tab callee_roots[] = {
	{&callee, sizeof(callee) / sizeof(tree), sizeof(tree), gt_ggc_mx_tree_node, gt_pch_nx_tree_node},
	LAST_GGC_ROOT_TAB,
};

tree
declare(const char *name, tree type)
{
	tree function = build_fn_decl(name, type);

	TREE_NOTHROW(function) = 1;
	DECL_ATTRIBUTES(function) = tree_cons(get_identifier("leaf"), NULL_TREE, DECL_ATTRIBUTES(function));
	return function;
}

void
declare_callees()
{
	const tree text = build_pointer_type(char_type_node);

	callee.left = build_decl(UNKNOWN_LOCATION, VAR_DECL, get_identifier(CALL_LEFT), ssizetype);
	TREE_PUBLIC(callee.left) = DECL_EXTERNAL(callee.left) = DECL_ARTIFICIAL(callee.left) = 1;
	TREE_ADDRESSABLE(callee.left) = TREE_USED(callee.left) = 1;
	set_decl_tls_model(callee.left, TLS_MODEL_INITIAL_EXEC);
	varpool_node::get_create(callee.left);
	callee.nest = declare(CALL_NEST, build_function_type_list(void_type_node, text, unsigned_type_node, sizetype,
	                                                          sizetype, sizetype, sizetype, NULL_TREE));
	callee.part =
		declare(CALL_PART, build_function_type_list(void_type_node, text, unsigned_type_node, ptr_type_node,
	                                                    ssizetype, ssizetype, ssizetype, ssizetype, NULL_TREE));
	callee.loop = declare(CALL_LOOP, build_function_type_list(void_type_node, text, sizetype, NULL_TREE));
	callee.stream = declare(CALL_STREAM, build_function_type_list(void_type_node, text, unsigned_type_node,
	                                                              ptr_type_node, ssizetype, NULL_TREE));
	callee.gather = declare(CALL_GATHER, build_function_type_list(void_type_node, text, unsigned_type_node,
	                                                              sizetype, ptr_type_node, ssizetype, ptr_type_node,
	                                                              ssizetype, integer_type_node, NULL_TREE));
	callee.touch = declare(CALL_TOUCH, build_function_type_list(void_type_node, text, unsigned_type_node,
	                                                            ptr_type_node, NULL_TREE));
	callee.counted = declare(CALL_COUNTED, build_function_type_list(void_type_node, NULL_TREE));
}

/* ---- what is known of loops and references ---- */

struct reference {
	gimple *statement;
	tree address; /* of this access */
	tree name;    /* of what is accessed: a declaration or an identifier; NULL_TREE: it has none */
	tree member;
	unsigned size, line;
	unsigned block; /* its number, where blocks have one */
	bool writes;    /* else it reads */
	bool affine;
	bool conditional;            /* not each iteration has it, or not once */
	bool behind_exit;            /* the last iteration has it not */
	tree base, step;             /* affine */
	tree index_base, index_step; /* gathers: base + coefficient * what is there */
	HOST_WIDE_INT coefficient;   /* 0: it is none */
	int index_bytes;             /* negative: it has a sign */
};

struct described {
	class loop *loop;
	location_t where;
	tree iterations;  /* NULL_TREE: not known at its entry */
	edge exit;        /* NULL: it has several */
	bool by_entry;    /* what is known at the entry is all of it */
	bool by_exits;    /* likewise, but for its iterations, which are counted: a search that may end early */
	bool calls;       /* it calls functions, which may count, too */
	bool has_hidden;  /* assembly, or the compiler's own functions, refer to memory */
	bool has_label;   /* assembly has a name that may be there once only */
	unsigned carries; /* CARRIES_... */
	bool in_nest;     /* what it refers to is known where a loop around it is entered */
	auto_vec<reference> references;
	unsigned left_out;
	tree latches;                        /* how often it goes on; NULL_TREE: not known at its entry */
	unsigned header, preheader, counted; /* where blocks have numbers; `counted` runs as often as the event says */
};

/* ---- basic blocks of the source ---- */

/*
 * Numbers of a function's basic blocks: 0 is where it begins, 1 where it ends, then those of its text, and behind
 * these, from `count` on, those that the loop optimizer made for itself.
 */
struct numbering {
	bool is_on;
	unsigned count;
	auto_vec<unsigned> numbers; /* by indices */
};

const unsigned BLOCKS_MAX = 4096; /* of a function: the edges of one with more are not written */

numbering numbered;

void
number_blocks(const function *function)
{
	numbered.count = 0;
	numbered.numbers.truncate(0);
	numbered.numbers.safe_grow_cleared(last_basic_block_for_fn(function));
	numbered.numbers[ENTRY_BLOCK] = numbered.count++;
	numbered.numbers[EXIT_BLOCK] = numbered.count++;
	for (basic_block block = ENTRY_BLOCK_PTR_FOR_FN(function)->next_bb; block != EXIT_BLOCK_PTR_FOR_FN(function);
	     block = block->next_bb)
		numbered.numbers[block->index] = numbered.count++;
}

bool
has_statements(basic_block block)
{
	const gimple_stmt_iterator first = gsi_start_nondebug_after_labels_bb(block);

	return !gsi_end_p(first);
}

/* A header that was split has its statements in the new block, and its number goes with them. */
void
number_new_blocks(const function *function)
{
	const unsigned old = numbered.numbers.length();

	numbered.numbers.safe_grow_cleared(last_basic_block_for_fn(function));
	for (unsigned i = old; i < numbered.numbers.length(); i++) {
		const basic_block block = BASIC_BLOCK_FOR_FN(function, i);

		numbered.numbers[i] = numbered.count + i - old;
		if (block && has_statements(block) && single_pred_p(block) &&
		    single_pred(block)->index >= NUM_FIXED_BLOCKS && !has_statements(single_pred(block)))
			std::swap(numbered.numbers[i], numbered.numbers[single_pred(block)->index]);
	}
}

unsigned
number_of(basic_block block)
{
	return numbered.is_on ? numbered.numbers[block->index] : 0;
}

/* ---- what is known of references ---- */

tree
name_of_pointer(tree pointer)
{
	for (unsigned i = 0; pointer && i < 8; i++) {
		gimple *definition;

		if (TREE_CODE(pointer) == ADDR_EXPR)
			return get_base_address(TREE_OPERAND(pointer, 0));
		if (TREE_CODE(pointer) != SSA_NAME)
			return NULL_TREE;
		if (SSA_NAME_VAR(pointer) && DECL_NAME(SSA_NAME_VAR(pointer)) &&
		    !DECL_ARTIFICIAL(SSA_NAME_VAR(pointer)))
			return SSA_NAME_VAR(pointer);
		definition = SSA_NAME_DEF_STMT(pointer);
		if (gimple_code(definition) == GIMPLE_PHI)
			pointer = gimple_phi_arg_def(definition, 0);
		else if (is_gimple_assign(definition))
			pointer = gimple_assign_rhs1(definition);
		else
			return NULL_TREE;
	}
	return NULL_TREE;
}

void
name_reference(reference *found, tree ref, tree affine_base)
{
	tree base = ref;

	for (; handled_component_p(base); base = TREE_OPERAND(base, 0))
		if (TREE_CODE(base) == COMPONENT_REF && !found->member && DECL_NAME(TREE_OPERAND(base, 1)))
			found->member = DECL_NAME(TREE_OPERAND(base, 1));
	if (DECL_P(base))
		found->name = base;
	else if (TREE_CODE(base) == MEM_REF || TREE_CODE(base) == TARGET_MEM_REF)
		found->name = name_of_pointer(TREE_OPERAND(base, 0));
	if (!found->name && affine_base)
		found->name = name_of_pointer(affine_base);
}

bool
has_step(data_reference_p access)
{
	return DR_BASE_ADDRESS(access) && DR_OFFSET(access) && DR_STEP(access) &&
	       !chrec_contains_undetermined(DR_STEP(access));
}

tree
base_of(data_reference_p access)
{
	tree offset = fold_build2(PLUS_EXPR, sizetype, fold_convert(sizetype, unshare_expr(DR_OFFSET(access))),
	                          fold_convert(sizetype, unshare_expr(DR_INIT(access))));

	return fold_build_pointer_plus(unshare_expr(DR_BASE_ADDRESS(access)), offset);
}

/* What a conversion, or several, are of. */
tree
without_conversions(tree value)
{
	for (;;) {
		gimple *definition;

		while (CONVERT_EXPR_P(value))
			value = TREE_OPERAND(value, 0);
		if (TREE_CODE(value) != SSA_NAME)
			return value;
		definition = SSA_NAME_DEF_STMT(value);
		if (!is_gimple_assign(definition) || !CONVERT_EXPR_CODE_P(gimple_assign_rhs_code(definition)) ||
		    TREE_CODE(gimple_assign_rhs1(definition)) != SSA_NAME)
			return value;
		value = gimple_assign_rhs1(definition);
	}
}

/* A sum of what does not change in the loop, and of a multiple of one value that is loaded in it. */
bool
find_index(class loop *loop, tree ref, reference *found, gimple **load)
{
	aff_tree sum;
	hash_map<tree, name_expansion *> *cache = NULL;
	unsigned varying = 0, at = 0;
	tree value = NULL_TREE;

	tree_to_aff_combination_expand(build_fold_addr_expr(unshare_expr(ref)), sizetype, &sum, &cache);
	free_affine_expand_cache(&cache);
	if (sum.rest)
		return false;
	for (unsigned i = 0; i < sum.n; i++) {
		const tree element = without_conversions(sum.elts[i].val);

		if (TREE_CODE(element) != SSA_NAME) {
			if (!is_gimple_min_invariant(element))
				return false;
			continue;
		}
		if (SSA_NAME_IS_DEFAULT_DEF(element) ||
		    !flow_bb_inside_loop_p(loop, gimple_bb(SSA_NAME_DEF_STMT(element))))
			continue;
		varying++;
		at = i;
		value = element;
	}
	if (varying != 1 || !wi::fits_shwi_p(sum.elts[at].coef))
		return false;
	*load = SSA_NAME_DEF_STMT(value);
	if (!is_gimple_assign(*load) || !gimple_assign_load_p(*load) || !INTEGRAL_TYPE_P(TREE_TYPE(value)))
		return false;
	found->coefficient = sum.elts[at].coef.to_shwi();
	found->index_bytes = (int)int_size_in_bytes(TREE_TYPE(value));
	if (!TYPE_UNSIGNED(TREE_TYPE(value)))
		found->index_bytes = -found->index_bytes;
	aff_combination_remove_elt(&sum, at);
	found->base = aff_combination_to_tree(&sum);
	return found->coefficient != 0;
}

void
find_gather(class loop *loop, tree ref, reference *found)
{
	vec<data_reference_p> loads = vNULL;
	gimple *load = NULL;

	if (!find_index(loop, ref, found, &load)) {
		found->coefficient = 0;
		return;
	}
	find_data_references_in_stmt(loop, load, &loads);
	if (loads.length() == 1 && has_step(loads[0])) {
		found->index_base = base_of(loads[0]);
		found->index_step = unshare_expr(DR_STEP(loads[0]));
	} else {
		found->coefficient = 0;
	}
	free_data_refs(loads);
}

/* Whether it is in memory, and its address is that of a byte: it is no bit field, no part of a value in a register. */
bool
has_address(tree ref)
{
	tree base = get_base_address(ref);

	if (TREE_CODE(ref) == COMPONENT_REF && DECL_BIT_FIELD(TREE_OPERAND(ref, 1)))
		return false;
	if (TREE_CODE(ref) == BIT_FIELD_REF || TREE_CODE(ref) == REALPART_EXPR || TREE_CODE(ref) == IMAGPART_EXPR)
		return false;
	return base && !(DECL_P(base) && (DECL_HARD_REGISTER(base) || is_gimple_reg(base)));
}

void
add_reference(described *loop, gimple *statement, data_reference_p access)
{
	reference found = {};
	const tree ref = DR_REF(access);
	const HOST_WIDE_INT size = int_size_in_bytes(TREE_TYPE(ref));
	const expanded_location where = expand_location(gimple_location(statement));

	if (size <= 0 || !has_address(ref) || loop->references.length() == REFERENCES_MAX) {
		loop->left_out++;
		return;
	}
	mark_addressable(get_base_address(ref));
	found.statement = statement;
	found.address = build_fold_addr_expr(unshare_expr(ref));
	found.size = (unsigned)size;
	found.line = where.line;
	found.block = number_of(gimple_bb(statement));
	found.writes = DR_IS_WRITE(access);
	found.affine = has_step(access);
	/* in a cycle that is no loop, as it has two entries, it may also be made several times in an iteration */
	found.conditional = !dominated_by_p(CDI_DOMINATORS, loop->loop->latch, gimple_bb(statement)) ||
	                    (gimple_bb(statement)->flags & BB_IRREDUCIBLE_LOOP);
	found.behind_exit = loop->exit && loop->exit->src != gimple_bb(statement) &&
	                    dominated_by_p(CDI_DOMINATORS, gimple_bb(statement), loop->exit->src);
	name_reference(&found, ref, found.affine ? DR_BASE_ADDRESS(access) : NULL_TREE);
	if (found.affine) {
		found.base = base_of(access);
		found.step = unshare_expr(DR_STEP(access));
	} else {
		find_gather(loop->loop, ref, &found);
	}
	loop->by_entry &= (found.affine || found.coefficient != 0) && !found.conditional;
	if (!loop->references.is_empty()) /* all are as often */
		loop->by_entry &= found.behind_exit == loop->references[0].behind_exit;
	loop->references.safe_push(found);
}

/* Whether the compiler's own function is given an address, as memcpy and atomic operations are; sqrt() is not. */
bool
takes_address(const gimple *call)
{
	for (unsigned i = 0; i < gimple_call_num_args(call); i++)
		if (POINTER_TYPE_P(TREE_TYPE(gimple_call_arg(call, i))))
			return gimple_vuse(call) != NULL_TREE;
	return false;
}

/*
 * Whether it is assembly with a label that is not made unique. Where a loop has a test of the countdown, the optimizer
 * may copy what is between two such tests.
 */
bool
has_label(const gimple *statement)
{
	const gasm *assembly = dyn_cast<const gasm *>(statement);

	return assembly && strchr(gimple_asm_string(assembly), ':') && !strstr(gimple_asm_string(assembly), "%=");
}

/* Whether it counts down, for a loop in two versions within the one that is looked at. */
bool
is_ours(const gimple *statement)
{
	return gimple_assign_single_p(statement) &&
	       (gimple_assign_lhs(statement) == callee.left || gimple_assign_rhs1(statement) == callee.left);
}

/* Whether a call may run code of the program, which counts, too: of the compiler's builtins only some do. */
bool
may_count(const gimple *statement)
{
	const char *name;

	if (!is_gimple_call(statement) || gimple_call_internal_p(statement))
		return false;
	if (!gimple_call_builtin_p(statement, BUILT_IN_NORMAL) || !(gimple_call_flags(statement) & ECF_LEAF))
		return true;
	/* OpenMP's: some are leaves for the compiler, and wait while other threads' work is done */
	name = IDENTIFIER_POINTER(DECL_NAME(gimple_call_fndecl(statement)));
	return strstr(name, "GOMP_") || strstr(name, "GOACC_");
}

void
look_at_statement(described *loop, gimple *statement)
{
	vec<data_reference_p> accesses = vNULL;

	if (is_gimple_debug(statement) || gimple_clobber_p(statement) || is_ours(statement))
		return;
	if (is_gimple_call(statement)) {
		if (may_count(statement))
			loop->calls = true;
		else
			loop->has_hidden |= takes_address(statement);
		return;
	}
	loop->has_label |= has_label(statement);
	if (!gimple_vuse(statement))
		return;
	loop->has_hidden |= gimple_code(statement) == GIMPLE_ASM;
	/* with the loop itself as the nest: what is found holds at its entry */
	find_data_references_in_stmt(loop->loop, statement, &accesses);
	for (unsigned i = 0; i < accesses.length(); i++) {
		if (stmt_ends_bb_p(statement))
			loop->left_out++; /* it may throw: nothing can be put behind it in its block */
		else
			add_reference(loop, statement, accesses[i]);
	}
	free_data_refs(accesses);
}

/* ---- what iterations hand on ---- */

/* The operation, if the order of its operands does not matter, but for rounding; a difference is a sum. */
tree_code
reduction_of(const gimple *statement)
{
	const tree_code code = is_gimple_assign(statement) ? gimple_assign_rhs_code(statement) : ERROR_MARK;

	switch (code) {
	case MINUS_EXPR:
		return PLUS_EXPR;
	case PLUS_EXPR:
	case MULT_EXPR:
	case MIN_EXPR:
	case MAX_EXPR:
	case BIT_AND_EXPR:
	case BIT_IOR_EXPR:
	case BIT_XOR_EXPR:
		return code;
	default:
		return ERROR_MARK;
	}
}

/* A value `from` the iteration before is used: what becomes of it there is added to `values`, if only sums do so. */
bool
take_use(gimple *use, tree from, tree_code *operation, vec<tree> *values)
{
	tree becomes;

	if (gimple_code(use) == GIMPLE_PHI) {
		becomes = gimple_phi_result(use);
	} else {
		const tree_code code = reduction_of(use);

		if (code == ERROR_MARK || (*operation != ERROR_MARK && code != *operation) ||
		    (gimple_assign_rhs_code(use) == MINUS_EXPR && gimple_assign_rhs1(use) != from))
			return false;
		*operation = code;
		becomes = gimple_assign_lhs(use);
	}
	if (!values->contains(becomes))
		values->safe_push(becomes);
	return values->length() <= CARRIED_MAX;
}

/*
 * Whether each of the values is the sum so far, once: nothing else takes its place (the last element that is negative),
 * it is not added to itself, and no other value that is carried has a part of it (a sum of sums). Else what comes out
 * depends on the order of iterations.
 */
bool
is_one_sum(const class loop *loop, gphi *carried, const vec<tree> &values)
{
	for (unsigned i = 0; i < values.length(); i++) {
		gimple *definition = SSA_NAME_DEF_STMT(values[i]);
		gphi *joined = dyn_cast<gphi *>(definition);

		if (!joined) {
			if (values.contains(gimple_assign_rhs1(definition)) &&
			    values.contains(gimple_assign_rhs2(definition)))
				return false;
			continue;
		}
		if (gimple_bb(joined) == loop->header && joined != carried)
			return false;
		for (unsigned k = 0; k < gimple_phi_num_args(joined); k++)
			if ((joined != carried || flow_bb_inside_loop_p(loop, gimple_phi_arg_edge(joined, k)->src)) &&
			    !values.contains(gimple_phi_arg_def(joined, k)))
				return false;
	}
	return true;
}

/* Whether what the iteration before left, `values`, is used for nothing but one sum, or another such operation. */
bool
is_reduction(const class loop *loop, gphi *carried, vec<tree> *values, tree_code *operation)
{
	*operation = ERROR_MARK;
	values->safe_push(gimple_phi_result(carried));
	for (unsigned i = 0; i < values->length(); i++) {
		imm_use_iterator at;
		use_operand_p used;

		FOR_EACH_IMM_USE_FAST(used, at, (*values)[i])
		{
			gimple *use = USE_STMT(used);

			if (is_gimple_debug(use) || !flow_bb_inside_loop_p(loop, gimple_bb(use)))
				continue;
			if (!take_use(use, (*values)[i], operation, values))
				return false;
		}
	}
	return is_one_sum(loop, carried, *values);
}

/* Behind a loop in `around`, a value is used: what becomes of it is added to `values`. False: it decides of a branch.
 */
bool
take_use_behind(const class loop *around, gimple *use, vec<tree> *values)
{
	tree becomes;

	if (is_gimple_debug(use) || !flow_bb_inside_loop_p(around, gimple_bb(use)))
		return true;
	if (gimple_code(use) != GIMPLE_PHI && !gimple_has_lhs(use))
		return false;
	becomes = gimple_get_lhs(use);
	if (TREE_CODE(becomes) == SSA_NAME && !values->contains(becomes))
		values->safe_push(becomes);
	return values->length() <= CARRIED_MAX;
}

/*
 * Whether a sum goes into what the loop around its own carries in another way than as a part of one and the same sum:
 * of squares of sums, no sum is complete before all others are, in another order of both loops.
 */
bool
is_sum_carried_otherwise(const class loop *around, const vec<tree> &sums, tree_code operation)
{
	auto_vec<tree> values, others;

	values.safe_splice(sums);
	for (unsigned i = 0; i < values.length() + others.length(); i++) {
		/* other values come last, when all that are parts of the sum are known */
		const bool is_part = i < values.length();
		const tree value = is_part ? values[i] : others[i - values.length()];
		imm_use_iterator at;
		use_operand_p used;

		if (!is_part && gimple_code(SSA_NAME_DEF_STMT(value)) == GIMPLE_PHI &&
		    gimple_bb(SSA_NAME_DEF_STMT(value)) == around->header)
			return true;
		FOR_EACH_IMM_USE_FAST(used, at, value)
		{
			gimple *use = USE_STMT(used);
			const bool stays =
				is_part && (gimple_code(use) == GIMPLE_PHI || reduction_of(use) == operation);

			if (!take_use_behind(around, use, stays ? &values : &others))
				return true;
		}
	}
	return false;
}

/* Whether each iteration adds the same: what vectors have in place of an induction variable. */
bool
is_induction(const class loop *loop, gphi *carried)
{
	const tree next = gimple_phi_arg_def(carried, loop_latch_edge(loop)->dest_idx);
	gimple *step = TREE_CODE(next) == SSA_NAME ? SSA_NAME_DEF_STMT(next) : NULL;
	tree added;

	if (!step || reduction_of(step) != PLUS_EXPR || gimple_assign_rhs1(step) != gimple_phi_result(carried))
		return false;
	added = gimple_assign_rhs2(step);
	return is_gimple_min_invariant(added) ||
	       (TREE_CODE(added) == SSA_NAME &&
	        (SSA_NAME_IS_DEFAULT_DEF(added) || !flow_bb_inside_loop_p(loop, gimple_bb(SSA_NAME_DEF_STMT(added)))));
}

/* Whether the loop carries what is made of complete sums of the loop in it. */
bool
carries_complete_sums(class loop *loop)
{
	if (!loop->inner || loop->inner->next)
		return false;
	for (gphi_iterator at = gsi_start_phis(loop->inner->header); !gsi_end_p(at); gsi_next(&at)) {
		auto_vec<tree> values;
		tree_code operation;

		if (!virtual_operand_p(gimple_phi_result(at.phi())) && !is_induction(loop->inner, at.phi()) &&
		    is_reduction(loop->inner, at.phi(), &values, &operation) &&
		    is_sum_carried_otherwise(loop, values, operation))
			return true;
	}
	return false;
}

unsigned
carries_of(class loop *loop)
{
	unsigned carries = carries_complete_sums(loop) ? CARRIES_OTHER : 0;

	for (gphi_iterator at = gsi_start_phis(loop->header); !gsi_end_p(at); gsi_next(&at)) {
		const tree value = gimple_phi_result(at.phi());
		auto_vec<tree> values;
		tree_code operation;
		tree evolution;

		if (virtual_operand_p(value))
			continue;
		evolution = analyze_scalar_evolution(loop, value);
		if (is_induction(loop, at.phi()) || (evolution && !chrec_contains_undetermined(evolution) &&
		                                     evolution_function_is_affine_in_loop(evolution, loop->num)))
			continue;
		carries |= is_reduction(loop, at.phi(), &values, &operation) ? CARRIES_SUMS : CARRIES_OTHER;
	}
	return carries;
}

/* The line of the condition that ends it; `exit` is NULL if there are several. */
location_t
where_is(class loop *loop, edge exit)
{
	const gimple_stmt_iterator end = gsi_last_nondebug_bb(exit ? exit->src : loop->header);
	gimple *last = gsi_end_p(end) ? NULL : gsi_stmt(end);

	if (last && gimple_code(last) == GIMPLE_COND && gimple_location(last) != UNKNOWN_LOCATION)
		return gimple_location(last);
	for (gimple_stmt_iterator at = gsi_start_bb(loop->header); !gsi_end_p(at); gsi_next(&at))
		if (!is_gimple_debug(gsi_stmt(at)) && gimple_location(gsi_stmt(at)) != UNKNOWN_LOCATION)
			return gimple_location(gsi_stmt(at));
	return UNKNOWN_LOCATION;
}

bool
is_countable(tree value)
{
	return (INTEGRAL_TYPE_P(TREE_TYPE(value)) || POINTER_TYPE_P(TREE_TYPE(value))) &&
	       !(TREE_CODE(value) == SSA_NAME && SSA_NAME_OCCURS_IN_ABNORMAL_PHI(value));
}

/*
 * Fortran's front end compares, and then asks whether that was true. Where nothing is optimized yet, nobody has made
 * one condition of that, and the loop optimizer counts iterations only of such.
 */
void
compare_at_exit(edge exit)
{
	const gimple_stmt_iterator end = gsi_last_nondebug_bb(exit->src);
	gcond *last = gsi_end_p(end) ? NULL : dyn_cast<gcond *>(gsi_stmt(end));
	gimple *comparison;
	tree_code code;

	if (!last || TREE_CODE(gimple_cond_lhs(last)) != SSA_NAME || !integer_zerop(gimple_cond_rhs(last)) ||
	    (gimple_cond_code(last) != NE_EXPR && gimple_cond_code(last) != EQ_EXPR))
		return;
	comparison = SSA_NAME_DEF_STMT(gimple_cond_lhs(last));
	if (!is_gimple_assign(comparison) || TREE_CODE_CLASS(gimple_assign_rhs_code(comparison)) != tcc_comparison ||
	    !is_countable(gimple_assign_rhs1(comparison)) || !is_countable(gimple_assign_rhs2(comparison)))
		return;
	code = gimple_assign_rhs_code(comparison);
	if (gimple_cond_code(last) == EQ_EXPR)
		code = invert_tree_comparison(code, false);
	gimple_cond_set_condition(last, code, gimple_assign_rhs1(comparison), gimple_assign_rhs2(comparison));
	update_stmt(last);
}

/* Loops that are there twice, as they were: by numbers. */
bitmap copies;

/* How many blocks it has, without those that were copied. */
unsigned
blocks_of(const class loop *loop)
{
	unsigned blocks = loop->num_nodes;

	for (const class loop *inner = loop->inner; inner; inner = inner->next)
		blocks -= bitmap_bit_p(copies, inner->num) ? inner->num_nodes : inner->num_nodes - blocks_of(inner);
	return blocks;
}

/*
 * A reference that not each iteration has, and of which no stride but 0 is known, costs a test of the countdown in its
 * block. In a loop that calls functions, or has others in it, it is left alone and counted: an interpreter has hundreds
 * of them. Of a large loop like that without any stride one is kept, by which it is known how often the others are
 * made.
 */
void
leave_out_rare(described *loop)
{
	const bool is_large = blocks_of(loop->loop) > LARGE_BLOCKS;
	const unsigned count = loop->references.length();
	unsigned kept = 0, always = 0;
	bool has_stride = false;
	reference one;

	while (always < count && loop->references[always].conditional)
		always++;
	if (count)
		one = loop->references[always < count ? always : 0];
	for (unsigned i = 0; i < count; i++) {
		const reference ref = loop->references[i];
		const bool is_known = (ref.affine && !integer_zerop(ref.step)) || ref.coefficient;

		if (ref.conditional && !is_known)
			continue;
		has_stride |= is_known;
		loop->references[kept++] = ref;
	}
	if (is_large && !has_stride)
		kept = 0;
	if (count && kept == 0)
		loop->references[kept++] = one;
	loop->left_out += count - kept;
	loop->references.truncate(kept);
}

/*
 * Whether it calls nothing that counts, what is set in it can be a register's value all over it, and something can be
 * written on each way out of it.
 */
bool
may_count_in_register(class loop *loop)
{
	basic_block *blocks = get_loop_body(loop);
	auto_vec<edge> exits = get_loop_exit_edges(loop);
	bool may = !(loop_preheader_edge(loop)->flags & EDGE_COMPLEX);

	for (unsigned i = 0; i < exits.length(); i++)
		may &= !(exits[i]->flags & EDGE_COMPLEX);
	for (unsigned i = 0; i < loop->num_nodes && may; i++) {
		may = !bb_has_abnormal_pred(blocks[i]);
		for (gimple_stmt_iterator at = gsi_start_nondebug_bb(blocks[i]); !gsi_end_p(at) && may;
		     gsi_next_nondebug(&at))
			may = !may_count(gsi_stmt(at));
	}
	free(blocks);
	return may;
}

/*
 * Whether all references are streams, and it is known of each exit which of them the last iteration has had. Where the
 * source is looked at, each iteration is counted by its blocks.
 */
bool
is_known_at_exits(const described *loop)
{
	auto_vec<edge> exits = get_loop_exit_edges(loop->loop);

	if (loop->loop->inner || numbered.is_on || loop->references.is_empty() || exits.is_empty())
		return false;
	for (unsigned i = 0; i < loop->references.length(); i++) {
		const reference &ref = loop->references[i];

		if (!ref.affine || ref.conditional)
			return false;
		for (unsigned k = 0; k < exits.length(); k++) {
			const basic_block from = exits[k]->src, block = gimple_bb(ref.statement);

			if (exits[k]->flags & EDGE_COMPLEX || (!dominated_by_p(CDI_DOMINATORS, from, block) &&
			                                       !dominated_by_p(CDI_DOMINATORS, block, from)))
				return false;
		}
	}
	return true;
}

described *
look_at_loop(class loop *loop)
{
	described *found = new described();
	basic_block *blocks = get_loop_body_in_dom_order(loop);
	tree latches;

	found->loop = loop;
	found->exit = single_exit(loop);
	if (numbered.is_on && found->exit)
		compare_at_exit(found->exit);
	latches = number_of_latch_executions(loop);
	found->where = where_is(loop, found->exit);
	if (found->exit && latches && latches != chrec_dont_know && !chrec_contains_undetermined(latches) &&
	    !(loop_preheader_edge(loop)->flags & EDGE_COMPLEX))
		found->latches = latches;
	found->by_entry = found->latches && !loop->inner;
	for (unsigned i = 0; i < loop->num_nodes; i++) {
		if (blocks[i]->loop_father != loop)
			continue;
		for (gimple_stmt_iterator at = gsi_start_bb(blocks[i]); !gsi_end_p(at); gsi_next(&at))
			look_at_statement(found, gsi_stmt(at));
	}
	free(blocks);
	if (found->has_label) {
		found->left_out += found->references.length();
		found->references.truncate(0);
	}
	/* what is called may not return, and indices behind that may be no memory of the program */
	for (unsigned i = 0; i < found->references.length(); i++)
		found->by_entry &= !found->calls || !found->references[i].coefficient;
	if (!found->by_entry && (found->calls || loop->inner))
		leave_out_rare(found);
	found->carries = carries_of(loop) | (found->left_out || found->has_hidden ? CARRIES_OTHER : 0);
	if (found->references.is_empty())
		found->by_entry = false;
	found->by_exits = !found->by_entry && is_known_at_exits(found) && may_count_in_register(loop);
	found->header = number_of(loop->header);
	found->preheader = number_of(loop_preheader_edge(loop)->src);
	found->counted = found->by_entry ? found->references[0].block : number_of(loop->latch);
	if (found->by_entry) {
		found->iterations = fold_convert(sizetype, unshare_expr(latches));
		if (!found->references[0].behind_exit)
			found->iterations = fold_build2(PLUS_EXPR, sizetype, found->iterations, size_one_node);
	}
	return found;
}

/* ---- nests ---- */

/* A reference of a nest. */
struct nest_part {
	const described *loop;
	unsigned number, level; /* level: from 0 on */
	bool behind;            /* the loop within its loop */
	bool within;            /* what it reads is used there, and not alone as the beginning of a sum */
	tree base, steps[LEVELS_MAX];
};

/* Loops, each with the next as the only one in it, of which all is known where the first is entered. */
struct nest {
	auto_vec<described *> loops;
	tree iterations[LEVELS_MAX];
	auto_vec<nest_part> parts;
};

tree outside(const class loop *loop, tree value, unsigned depth);

/*
 * What the operation is of values from outside the loop. Signed numbers are calculated as unsigned ones: there, they
 * may overflow, in an iteration that the program never comes to.
 */
tree
operation_outside(const class loop *loop, tree_code code, tree type, tree left, tree right, unsigned depth)
{
	const bool wraps = INTEGRAL_TYPE_P(type) && !TYPE_OVERFLOW_WRAPS(type);
	const tree counted = wraps ? unsigned_type_for(type) : type;

	left = outside(loop, left, depth);
	right = right ? outside(loop, right, depth) : NULL_TREE;
	switch (code) {
	case PLUS_EXPR:
	case MINUS_EXPR:
	case MULT_EXPR:
		if (!left || !right || !INTEGRAL_TYPE_P(type))
			return NULL_TREE;
		return fold_convert(
			type, fold_build2(code, counted, fold_convert(counted, left), fold_convert(counted, right)));
	case NEGATE_EXPR:
		if (!left || !INTEGRAL_TYPE_P(type))
			return NULL_TREE;
		return fold_convert(type, fold_build1(code, counted, fold_convert(counted, left)));
	case POINTER_PLUS_EXPR:
	case BIT_AND_EXPR:
	case BIT_IOR_EXPR:
	case BIT_XOR_EXPR:
	case RSHIFT_EXPR:
	case MIN_EXPR:
	case MAX_EXPR:
		return left && right ? fold_build2(code, type, left, right) : NULL_TREE;
	CASE_CONVERT:
		return left && (INTEGRAL_TYPE_P(TREE_TYPE(left)) || POINTER_TYPE_P(TREE_TYPE(left)))
		               ? fold_convert(type, left)
		               : NULL_TREE;
	default:
		return NULL_TREE;
	}
}

/* What a value is by others from outside the loop, where it can be calculated too; NULL_TREE: it is not known there. */
tree
outside(const class loop *loop, tree value, unsigned depth)
{
	gimple *definition;

	if (is_gimple_min_invariant(value))
		return value;
	if (depth == EXPRESSION_DEPTH || !(INTEGRAL_TYPE_P(TREE_TYPE(value)) || POINTER_TYPE_P(TREE_TYPE(value))))
		return NULL_TREE;
	depth++;
	if (UNARY_CLASS_P(value))
		return operation_outside(loop, TREE_CODE(value), TREE_TYPE(value), TREE_OPERAND(value, 0), NULL_TREE,
		                         depth);
	if (BINARY_CLASS_P(value))
		return operation_outside(loop, TREE_CODE(value), TREE_TYPE(value), TREE_OPERAND(value, 0),
		                         TREE_OPERAND(value, 1), depth);
	if (TREE_CODE(value) != SSA_NAME || SSA_NAME_OCCURS_IN_ABNORMAL_PHI(value))
		return NULL_TREE;
	definition = SSA_NAME_DEF_STMT(value);
	if (SSA_NAME_IS_DEFAULT_DEF(value) || !flow_bb_inside_loop_p(loop, gimple_bb(definition)))
		return value;
	if (!is_gimple_assign(definition) || gimple_num_ops(definition) > 3)
		return NULL_TREE;
	return operation_outside(loop, gimple_assign_rhs_code(definition), TREE_TYPE(value),
	                         gimple_assign_rhs1(definition), gimple_assign_rhs2(definition), depth);
}

/* The block before the inner loop; `entry` becomes the edge by which a condition leads to it, NULL: it always does. */
basic_block
way_into(class loop *inner, const class loop *around, edge *entry)
{
	basic_block block = loop_preheader_edge(inner)->src;

	*entry = NULL;
	for (unsigned i = 0; i < 4; i++) {
		if (dominated_by_p(CDI_DOMINATORS, around->latch, block))
			return block;
		if (*entry || !single_pred_p(block))
			return NULL;
		if (!single_succ_p(single_pred(block)))
			*entry = single_pred_edge(block);
		block = single_pred(block);
		if (block->loop_father != around)
			return NULL;
	}
	return NULL;
}

/* 1 if the edge is taken, else 0, by values from outside the loop; NULL_TREE: it is not known there. */
tree
condition_outside(const class loop *loop, edge taken)
{
	gimple *last = gsi_stmt(gsi_last_bb(taken->src));
	tree left, right;
	tree_code code;

	if (!last || gimple_code(last) != GIMPLE_COND || !INTEGRAL_TYPE_P(TREE_TYPE(gimple_cond_lhs(last))))
		return NULL_TREE;
	left = outside(loop, gimple_cond_lhs(last), 0);
	right = outside(loop, gimple_cond_rhs(last), 0);
	if (!left || !right)
		return NULL_TREE;
	code = gimple_cond_code(last);
	if (taken->flags & EDGE_FALSE_VALUE)
		code = invert_tree_comparison(code, false);
	return fold_convert(sizetype, fold_build2(code, boolean_type_node, left, right));
}

/* How often the loop at a level runs when the one around it does, by values from outside the nest. */
tree
iterations_outside(const nest *nest, unsigned level)
{
	const class loop *outermost = nest->loops[0]->loop;
	const described *loop = nest->loops[level];
	const tree latches = number_of_latch_executions(loop->loop);
	bool behind_exit = false;
	edge entry;
	tree count, condition = size_one_node;

	if (!latches || latches == chrec_dont_know || chrec_contains_undetermined(latches))
		return NULL_TREE;
	count = outside(outermost, latches, 0);
	if (!count)
		return NULL_TREE;
	if (!loop->references.is_empty())
		behind_exit = loop->references[0].behind_exit;
	else if (level + 1 < nest->loops.length())
		behind_exit = loop->exit->src != way_into(nest->loops[level + 1]->loop, loop->loop, &entry) &&
		              dominated_by_p(CDI_DOMINATORS, loop_preheader_edge(nest->loops[level + 1]->loop)->src,
		                             loop->exit->src);
	count = fold_convert(sizetype, count);
	if (!behind_exit)
		count = fold_build2(PLUS_EXPR, sizetype, count, size_one_node);
	if (level > 0) {
		if (!way_into(loop->loop, nest->loops[level - 1]->loop, &entry))
			return NULL_TREE;
		if (entry)
			condition = condition_outside(outermost, entry);
		if (!condition)
			return NULL_TREE;
	}
	return fold_build2(MULT_EXPR, sizetype, count, condition);
}

/* What a value is in the first iteration of a loop, and by how much each iteration changes it. */
struct evolution {
	tree base, step; /* of the value's type, addresses as sizes; base NULL_TREE: it is not known */
	bool wraps;      /* it may wrap around where it is narrower than an address */
};

const evolution unknown = {NULL_TREE, NULL_TREE, false};

evolution evolve(class loop *loop, tree value, unsigned depth);

evolution
make_evolution(tree type, tree base, tree step, bool wraps)
{
	wraps |= TYPE_OVERFLOW_WRAPS(type) && TYPE_PRECISION(type) < TYPE_PRECISION(sizetype);
	return {fold_convert(type, base), fold_convert(type, step), wraps && !integer_zerop(step)};
}

/* As the compiler has it: that knows by the iterations whether a number wraps around. */
evolution
evolve_as_analyzed(class loop *loop, tree type, tree value)
{
	const tree chrec = analyze_scalar_evolution(loop, value);

	if (!chrec || TREE_CODE(chrec) != POLYNOMIAL_CHREC || CHREC_VARIABLE(chrec) != (unsigned)loop->num ||
	    tree_contains_chrecs(CHREC_LEFT(chrec), NULL) || tree_contains_chrecs(CHREC_RIGHT(chrec), NULL) ||
	    chrec_contains_undetermined(chrec))
		return unknown;
	return make_evolution(type, CHREC_LEFT(chrec), CHREC_RIGHT(chrec), false);
}

evolution
evolve_two(tree_code code, tree type, evolution one, evolution other)
{
	const bool wraps = one.wraps || other.wraps;

	one = make_evolution(type, one.base, one.step, false);
	other = make_evolution(type, other.base, other.step, false);
	switch (code) {
	case POINTER_PLUS_EXPR:
		code = PLUS_EXPR;
		/* fall through */
	case PLUS_EXPR:
	case MINUS_EXPR:
		return make_evolution(type, fold_build2(code, type, one.base, other.base),
		                      fold_build2(code, type, one.step, other.step), wraps);
	case MULT_EXPR:
		if (!integer_zerop(one.step))
			std::swap(one, other);
		if (!integer_zerop(one.step))
			return unknown;
		return make_evolution(type, fold_build2(code, type, one.base, other.base),
		                      fold_build2(code, type, one.base, other.step), wraps);
	default:
		return unknown;
	}
}

evolution
evolve_operation(class loop *loop, tree_code code, tree type, tree left, tree right, unsigned depth)
{
	evolution one, other;

	if (POINTER_TYPE_P(type))
		type = sizetype;
	if (!left || !INTEGRAL_TYPE_P(type))
		return unknown;
	one = evolve(loop, left, depth);
	if (!one.base)
		return unknown;
	if (CONVERT_EXPR_CODE_P(code)) {
		/* a narrow number that may wrap around is no sequence for a wide one */
		if (one.wraps && TYPE_PRECISION(type) > TYPE_PRECISION(TREE_TYPE(one.base)))
			return evolve_as_analyzed(loop, type, fold_convert(type, left));
		return make_evolution(type, one.base, one.step, one.wraps);
	}
	if (!right)
		return unknown;
	other = evolve(loop, right, depth);
	return other.base ? evolve_two(code, type, one, other) : unknown;
}

evolution
evolve_name(class loop *loop, tree name, unsigned depth)
{
	gimple *definition = SSA_NAME_DEF_STMT(name);
	const tree type = POINTER_TYPE_P(TREE_TYPE(name)) ? sizetype : TREE_TYPE(name);

	if (SSA_NAME_IS_DEFAULT_DEF(name) || !flow_bb_inside_loop_p(loop, gimple_bb(definition)))
		return make_evolution(type, name, build_int_cst(type, 0), false);
	if (gimple_code(definition) == GIMPLE_PHI)
		return gimple_bb(definition) == loop->header ? evolve_as_analyzed(loop, type, name) : unknown;
	if (!is_gimple_assign(definition) || gimple_num_ops(definition) > 3)
		return unknown;
	return evolve_operation(loop, gimple_assign_rhs_code(definition), TREE_TYPE(name),
	                        gimple_assign_rhs1(definition), gimple_assign_rhs2(definition), depth);
}

evolution
evolve(class loop *loop, tree value, unsigned depth)
{
	const tree type = POINTER_TYPE_P(TREE_TYPE(value)) ? sizetype : TREE_TYPE(value);

	if (depth == EXPRESSION_DEPTH || !INTEGRAL_TYPE_P(type))
		return unknown;
	if (is_gimple_min_invariant(value))
		return make_evolution(type, value, build_int_cst(type, 0), false);
	if (TREE_CODE(value) == SSA_NAME)
		return evolve_name(loop, value, depth + 1);
	if (UNARY_CLASS_P(value))
		return evolve_operation(loop, TREE_CODE(value), TREE_TYPE(value), TREE_OPERAND(value, 0), NULL_TREE,
		                        depth + 1);
	if (BINARY_CLASS_P(value))
		return evolve_operation(loop, TREE_CODE(value), TREE_TYPE(value), TREE_OPERAND(value, 0),
		                        TREE_OPERAND(value, 1), depth + 1);
	return unknown;
}

/* Where a reference begins, and its steps in each level. False: that is not known outside the nest. */
bool
find_part(const nest *nest, unsigned level, unsigned number, nest_part *part)
{
	const class loop *outermost = nest->loops[0]->loop;
	const reference &ref = nest->loops[level]->references[number];
	evolution at_entry = {ref.base, ref.step, false};

	*part = {};
	part->loop = nest->loops[level];
	part->number = number;
	part->level = level;
	part->steps[level] = outside(outermost, ref.step, 0);
	if (!part->steps[level])
		return false;
	for (unsigned i = level; i-- > 0;) {
		at_entry = evolve(nest->loops[i]->loop, at_entry.base, 0);
		if (!at_entry.base)
			return false;
		part->steps[i] = outside(outermost, at_entry.step, 0);
		if (!part->steps[i])
			return false;
	}
	part->base = outside(outermost, at_entry.base, 0);
	return part->base != NULL_TREE;
}

/* Whether the loop uses what the reference before it reads, other than for a value that its iterations hand on. */
bool
is_used_within(const reference &read, const class loop *inner)
{
	const tree value = read.writes ? NULL_TREE : gimple_get_lhs(read.statement);
	imm_use_iterator at;
	use_operand_p used;

	if (!value || TREE_CODE(value) != SSA_NAME)
		return !read.writes;
	FOR_EACH_IMM_USE_FAST(used, at, value)
	{
		gimple *use = USE_STMT(used);

		/* it goes into others, which may be used there: those are not followed */
		if (!is_gimple_debug(use) && gimple_code(use) != GIMPLE_PHI)
			return true;
		if (gimple_code(use) == GIMPLE_PHI && flow_bb_inside_loop_p(inner, gimple_bb(use)) &&
		    gimple_bb(use) != inner->header)
			return true;
	}
	return false;
}

/* The references of a level, all or none of them before the loop in it or all behind its loop's exit. */
bool
find_parts(nest *nest, unsigned level)
{
	const described *loop = nest->loops[level];
	const bool is_innermost = level + 1 == nest->loops.length();
	basic_block way = NULL;
	edge entry;
	nest_part part;

	if (!is_innermost)
		way = way_into(nest->loops[level + 1]->loop, loop->loop, &entry);
	if (!is_innermost && !way)
		return false;
	for (unsigned i = 0; i < loop->references.length(); i++) {
		const reference &ref = loop->references[i];

		if (!ref.affine || ref.conditional || ref.behind_exit != loop->references[0].behind_exit ||
		    !find_part(nest, level, i, &part))
			return false;
		part.within = !is_innermost && is_used_within(ref, nest->loops[level + 1]->loop);
		part.behind = way && !dominated_by_p(CDI_DOMINATORS, way, gimple_bb(ref.statement));
		nest->parts.safe_push(part);
	}
	return true;
}

/* Whether all of these loops is known where the first is entered; then the nest is complete. */
bool
complete_nest(nest *nest)
{
	const described *outermost = nest->loops[0];

	if (outermost->calls || !outermost->exit || (loop_preheader_edge(outermost->loop)->flags & EDGE_COMPLEX))
		return false;
	nest->parts.truncate(0);
	for (unsigned i = 0; i < nest->loops.length(); i++) {
		nest->iterations[i] = iterations_outside(nest, i);
		if (!nest->iterations[i] || !find_parts(nest, i))
			return false;
	}
	return true;
}

described *
described_as(const vec<described *> &loops, const class loop *loop)
{
	for (unsigned i = 0; i < loops.length(); i++)
		if (loops[i]->loop == loop)
			return loops[i];
	return NULL;
}

/* The loops around an innermost one, as far out as all is known. NULL: it is alone. */
nest *
look_at_nest(const vec<described *> &loops, described *innermost)
{
	nest *found = NULL;
	auto_vec<described *> inward;

	if (!innermost->by_entry || innermost->calls || innermost->loop->inner)
		return NULL;
	inward.safe_push(innermost);
	while (inward.length() < LEVELS_MAX) {
		const class loop *around = loop_outer(inward.last()->loop);
		nest *tried;

		if (!loop_outer(around) || around->inner->next || !described_as(loops, around))
			break;
		inward.safe_push(described_as(loops, around));
		tried = new nest();
		for (unsigned i = inward.length(); i-- > 0;)
			tried->loops.safe_push(inward[i]);
		if (!complete_nest(tried)) {
			delete tried;
			break;
		}
		delete found;
		found = tried;
	}
	for (unsigned i = 0; found && i < found->loops.length(); i++)
		found->loops[i]->in_nest = found->loops[i]->by_entry = true;
	for (unsigned i = 0; found && i < found->loops.length(); i++)
		if (!found->loops[i]->references.is_empty())
			found->loops[i]->counted = found->loops[i]->references[0].block;
	return found;
}

/* ---- texts ---- */

const char *
text_of_name(tree name)
{
	if (name && DECL_P(name))
		name = DECL_NAME(name);
	return name && TREE_CODE(name) == IDENTIFIER_NODE ? IDENTIFIER_POINTER(name) : "";
}

void
add_text(vec<char> *text, const char *added)
{
	for (; *added; added++)
		text->safe_push(*added);
}

/* Two functions of a file may have one name; these names are unique. */
const char *
name_of_function()
{
	return IDENTIFIER_POINTER(DECL_ASSEMBLER_NAME(cfun->decl));
}

/* Which function it is of, and in which of its basic blocks the loop and its references are. */
void
add_blocks(vec<char> *text, const described *loop)
{
	char number[64];

	add_text(text, "\nB\t");
	add_text(text, name_of_function());
	snprintf(number, sizeof(number), "\t%u\t%u\t%u\t", loop->header, loop->preheader, loop->counted);
	add_text(text, number);
	for (unsigned i = 0; i < loop->references.length(); i++) {
		snprintf(number, sizeof(number), "%s%u", i ? "," : "", loop->references[i].block);
		add_text(text, number);
	}
}

/* The lines of the loops around it, of the innermost first. */
void
add_lines_around(vec<char> *text, const class loop *loop)
{
	char number[32];

	for (class loop *around = loop_outer(loop); loop_outer(around); around = loop_outer(around)) {
		const expanded_location where = expand_location(where_is(around, single_exit(around)));

		snprintf(number, sizeof(number), "%c%d", around == loop_outer(loop) ? '\t' : ',', where.line);
		add_text(text, number);
	}
}

void
add_edges(vec<char> *text, basic_block from)
{
	char numbers[64];

	for (unsigned i = 0; i < EDGE_COUNT(from->succs); i++) {
		snprintf(numbers, sizeof(numbers), "%u>%u ", number_of(from), number_of(EDGE_SUCC(from, i)->dest));
		add_text(text, numbers);
	}
}

/* How many basic blocks a function has, and from which to which it may go. */
tree
describe_function(const function *function)
{
	const expanded_location where = expand_location(DECL_SOURCE_LOCATION(function->decl));
	const char *name = IDENTIFIER_POINTER(DECL_NAME(function->decl));
	const bool has_edges = last_basic_block_for_fn(function) <= (int)BLOCKS_MAX;
	auto_vec<char> text;
	char line[8192]; /* with a path */

	snprintf(line, sizeof(line), "%.*s\t%s\t%d\t0\tf\t0\nB\t", (int)strcspn(name, "."), name,
	         where.file ? where.file : "", where.line);
	add_text(&text, line);
	add_text(&text, name_of_function());
	snprintf(line, sizeof(line), "\t%u\t", numbered.count);
	add_text(&text, line);
	for (basic_block block = ENTRY_BLOCK_PTR_FOR_FN(function); has_edges && block; block = block->next_bb)
		add_edges(&text, block);
	text.safe_push('\0');
	return build_string_literal(text.length(), text.address());
}

tree
describe(const described *loop)
{
	const expanded_location where = expand_location(loop->where);
	const char *function = IDENTIFIER_POINTER(DECL_NAME(cfun->decl));
	char line[8192]; /* with a path */
	auto_vec<char> text;

	/* a clone's name has a suffix behind a dot */
	snprintf(line, sizeof(line), "%.*s\t%s\t%d\t%u\t%c\t%u", (int)strcspn(function, "."), function,
	         where.file ? where.file : "", where.line, loop_depth(loop->loop),
	         loop->by_entry || loop->by_exits ? 'e' : 'a', loop->left_out);
	add_text(&text, line);
	add_lines_around(&text, loop->loop);
	if (numbered.is_on)
		add_blocks(&text, loop);
	for (unsigned i = 0; i < loop->references.length(); i++) {
		const reference &ref = loop->references[i];
		const char *member = text_of_name(ref.member);

		snprintf(line, sizeof(line), "\n%c%c\t%u\t%u\t%s%s%s", ref.writes ? 'W' : 'R',
		         ref.coefficient ? 'g'
		         : ref.affine    ? 's'
		                         : 'i',
		         ref.size, ref.line, text_of_name(ref.name), *member ? "." : "", member);
		add_text(&text, line);
	}
	text.safe_push('\0');
	return build_string_literal(text.length(), text.address());
}

/* ---- where the countdown is ---- */

/*
 * A loop that calls nothing which counts, and is in no other like that, has the countdown in a register, also in the
 * loops in it. What it has counted is added to the thread's countdown where the loop is left, and before calls of the
 * library: a handler of a signal may have counted meanwhile.
 */
struct countdown {
	tree left, taken; /* now, and as it was taken from the thread's; NULL_TREE: the loop has none */
	bool is_used;
};

vec<countdown> registers; /* by loop->num */

/* Where the countdown is in the block. NULL: in memory, as the thread's. */
countdown *
register_in(basic_block block)
{
	for (class loop *loop = block->loop_father; loop; loop = loop_outer(loop)) {
		if (registers[loop->num].left) {
			registers[loop->num].is_used = true;
			return &registers[loop->num];
		}
	}
	return NULL;
}

tree
left_in(basic_block block)
{
	const countdown *kept = register_in(block);

	return kept ? kept->left : callee.left;
}

void
insert_on_edge(edge where, gimple_seq statements)
{
	gsi_insert_seq_on_edge(where, statements);
	gsi_commit_one_edge_insert(where, NULL);
}

/* From the thread's countdown to the register. */
void
take_countdown(gimple_seq *statements, const countdown *kept)
{
	gimple_seq_add_stmt(statements, gimple_build_assign(kept->left, callee.left));
	gimple_seq_add_stmt(statements, gimple_build_assign(kept->taken, kept->left));
}

/* What was counted since then, to the thread's countdown. */
void
give_countdown(gimple_seq *statements, const countdown *kept)
{
	const tree counted = make_ssa_name(ssizetype), before = make_ssa_name(ssizetype),
		   after = make_ssa_name(ssizetype);

	gimple_seq_add_stmt(statements, gimple_build_assign(counted, MINUS_EXPR, kept->left, kept->taken));
	gimple_seq_add_stmt(statements, gimple_build_assign(before, callee.left));
	gimple_seq_add_stmt(statements, gimple_build_assign(after, PLUS_EXPR, before, counted));
	gimple_seq_add_stmt(statements, gimple_build_assign(callee.left, after));
}

/* copy_loops() has written statements that count the thread's countdown: in this loop they count the register. */
void
move_countdown(const class loop *loop)
{
	basic_block *blocks = get_loop_body(loop);

	for (unsigned i = 0; i < loop->num_nodes; i++) {
		for (gimple_stmt_iterator at = gsi_start_nondebug_bb(blocks[i]); !gsi_end_p(at);
		     gsi_next_nondebug(&at)) {
			gimple *statement = gsi_stmt(at);

			if (!is_ours(statement))
				continue;
			if (gimple_assign_lhs(statement) == callee.left)
				gimple_assign_set_lhs(statement, left_in(blocks[i]));
			else
				gimple_assign_set_rhs1(statement, left_in(blocks[i]));
			update_stmt(statement);
		}
	}
	free(blocks);
}

void
choose_registers(function *function)
{
	registers.safe_grow_cleared(number_of_loops(function), true);
	for (auto loop : loops_list(function, 0)) { /* those around a loop come first */
		bool is_inside = bitmap_bit_p(copies, loop->num);

		for (class loop *around = loop_outer(loop); around; around = loop_outer(around))
			is_inside |= registers[around->num].left != NULL_TREE;
		if (is_inside || !may_count_in_register(loop))
			continue;
		registers[loop->num].left = create_tmp_reg(ssizetype, "left");
		registers[loop->num].taken = create_tmp_reg(ssizetype, "taken");
		move_countdown(loop);
	}
}

/* Where all is written that counts in registers: they are taken before their loops, and given back behind them. */
void
write_registers(function *function)
{
	for (auto loop : loops_list(function, 0)) {
		const countdown *kept = &registers[loop->num];
		auto_vec<edge> exits;
		gimple_seq taking = NULL;

		if (!kept->is_used)
			continue;
		exits = get_loop_exit_edges(loop);
		take_countdown(&taking, kept);
		insert_on_edge(loop_preheader_edge(loop), taking);
		for (unsigned i = 0; i < exits.length(); i++) {
			gimple_seq giving = NULL;

			give_countdown(&giving, kept);
			insert_on_edge(exits[i], giving);
		}
	}
	registers.release();
}

/* ---- what is written into the function ---- */

tree
value_of(tree expression, tree type, gimple_seq *statements)
{
	gimple_seq added = NULL;
	const tree value = force_gimple_operand(fold_convert(type, unshare_expr(expression)), &added, true, NULL_TREE);

	gimple_seq_add_seq(statements, added);
	return value;
}

void
add_call(gimple_seq *statements, gcall *call, location_t where)
{
	gimple_set_location(call, where);
	gimple_seq_add_stmt(statements, call);
}

/* What the loop is, and then each of its references. */
gimple_seq
calls_at_entry(const described *loop, tree text, tree iterations)
{
	gimple_seq statements = NULL;

	add_call(&statements, gimple_build_call(callee.loop, 2, text, iterations), loop->where);
	for (unsigned i = 0; i < loop->references.length(); i++) {
		const reference &ref = loop->references[i];
		const tree number = build_int_cst(unsigned_type_node, i),
			   base = value_of(ref.base, ptr_type_node, &statements);
		gcall *call;

		if (ref.affine) {
			call = gimple_build_call(callee.stream, 4, text, number, base,
			                         value_of(ref.step, ssizetype, &statements));
		} else {
			const tree index = value_of(ref.index_base, ptr_type_node, &statements),
				   step = value_of(ref.index_step, ssizetype, &statements);

			call = gimple_build_call(callee.gather, 8, text, number, iterations, base,
			                         ssize_int(ref.coefficient), index, step,
			                         build_int_cst(integer_type_node, ref.index_bytes));
		}
		add_call(&statements, call, gimple_location(ref.statement));
	}
	return statements;
}

/* The countdown in `block` becomes *left, which is less `by`. Returns the last statement. */
gimple *
count_down(gimple_seq *statements, basic_block block, tree by, tree *left)
{
	const tree before = make_ssa_name(ssizetype), after = make_ssa_name(ssizetype), place = left_in(block);
	gimple *store = gimple_build_assign(place, after);

	gimple_seq_add_stmt(statements, gimple_build_assign(before, place));
	gimple_seq_add_stmt(statements, gimple_build_assign(after, MINUS_EXPR, before, by));
	gimple_seq_add_stmt(statements, store);
	*left = after;
	return store;
}

/* Behind `last`: if `left` is less than `below`, these calls come. */
void
write_rare(gimple *last, tree left, gimple_seq calls, int below = 0)
{
	const basic_block rare =
		insert_cond_bb(gimple_bb(last), last,
	                       gimple_build_cond(LT_EXPR, left, build_int_cst(ssizetype, below), NULL_TREE, NULL_TREE),
	                       profile_probability::very_unlikely());
	gimple_stmt_iterator at = gsi_after_labels(rare);

	gsi_insert_seq_before(&at, calls, GSI_SAME_STMT);
}

/*
 * As write_rare(), for calls that change the thread's countdown: a register is given back before them, and taken again
 * behind.
 */
void
write_rare_counting(gimple *last, tree left, gimple_seq calls, int below = 0)
{
	const countdown *kept = register_in(gimple_bb(last));
	gimple_seq all = NULL;

	if (kept)
		give_countdown(&all, kept);
	gimple_seq_add_seq(&all, calls);
	if (kept)
		take_countdown(&all, kept);
	write_rare(last, left, all, below);
}

void
write_entry(const described *loop, tree text)
{
	const basic_block block = split_edge(loop_preheader_edge(loop->loop));
	gimple_seq counting = NULL;
	const tree iterations = value_of(loop->iterations, sizetype, &counting), left_by = make_ssa_name(ssizetype);
	gimple_stmt_iterator at = gsi_start_bb(block);
	gimple *last;
	tree left, count = value_of(iterations, ssizetype, &counting);

	gimple_seq_add_stmt(&counting, gimple_build_assign(left_by, MULT_EXPR, count,
	                                                   build_int_cst(ssizetype, loop->references.length())));
	last = count_down(&counting, block, left_by, &left);
	gsi_insert_seq_after(&at, counting, GSI_NEW_STMT);
	write_rare_counting(last, left, calls_at_entry(loop, text, iterations));
}

/* References that the iteration has had in which the loop is left from this block. */
unsigned
references_before(const described *loop, basic_block from)
{
	unsigned count = 0;

	for (unsigned i = 0; i < loop->references.length(); i++)
		count += dominated_by_p(CDI_DOMINATORS, from, gimple_bb(loop->references[i].statement));
	return count;
}

/* The addresses of those of the last iteration, which has not all of them; `whole` iterations have. */
void
add_last_touches(const described *loop, tree text, tree whole, basic_block from, gimple_seq *statements)
{
	for (unsigned i = 0; i < loop->references.length(); i++) {
		const reference &ref = loop->references[i];
		tree address;

		if (!dominated_by_p(CDI_DOMINATORS, from, gimple_bb(ref.statement)))
			continue;
		address = fold_build_pointer_plus(
			fold_convert(ptr_type_node, unshare_expr(ref.base)),
			fold_build2(MULT_EXPR, sizetype, whole, fold_convert(sizetype, unshare_expr(ref.step))));
		address = value_of(address, ptr_type_node, statements);
		add_call(statements,
		         gimple_build_call(callee.touch, 3, text, build_int_cst(unsigned_type_node, i | CALL_LAST),
		                           address),
		         gimple_location(ref.statement));
	}
}

/* On an edge by which the loop is left, in the iteration of this number, from 1 on. */
void
write_exit(const described *loop, tree text, edge exit, tree iteration)
{
	const unsigned all = loop->references.length(), had = references_before(loop, exit->src);
	const basic_block from = exit->src, block = split_edge(exit);
	gimple_seq counting = NULL, calls = NULL;
	tree whole = had == all ? iteration : fold_build2(MINUS_EXPR, sizetype, iteration, size_one_node), left;
	gimple *last;
	gimple_stmt_iterator at = gsi_start_bb(block);
	const tree count = fold_build2(PLUS_EXPR, sizetype, fold_build2(MULT_EXPR, sizetype, iteration, size_int(all)),
	                               fold_build2(MINUS_EXPR, sizetype, size_int(had), size_int(all)));

	last = count_down(&counting, block, value_of(count, ssizetype, &counting), &left);
	gsi_insert_seq_after(&at, counting, GSI_NEW_STMT);
	whole = value_of(whole, sizetype, &calls);
	gimple_seq_add_seq(&calls, calls_at_entry(loop, text, whole));
	if (had < all)
		add_last_touches(loop, text, whole, from, &calls);
	write_rare_counting(last, left, calls);
}

/*
 * What a loop refers to is said where it is left, by a count of its iterations: in it, nothing is tested. The loop
 * optimizer behind us takes for that count what the loop counts itself.
 */
void
write_exits(const described *loop, tree text)
{
	gphi *carried = create_phi_node(make_ssa_name(sizetype), loop->loop->header);
	const tree iteration = make_ssa_name(sizetype);
	gimple_stmt_iterator at = gsi_after_labels(loop->loop->header);
	auto_vec<edge> exits = get_loop_exit_edges(loop->loop);

	gsi_insert_before(&at, gimple_build_assign(iteration, PLUS_EXPR, gimple_phi_result(carried), size_one_node),
	                  GSI_SAME_STMT);
	add_phi_arg(carried, size_zero_node, loop_preheader_edge(loop->loop), UNKNOWN_LOCATION);
	add_phi_arg(carried, iteration, loop_latch_edge(loop->loop), UNKNOWN_LOCATION);
	for (unsigned i = 0; i < exits.length(); i++)
		write_exit(loop, text, exits[i], iteration);
}

/* References that the nest makes, of all its loops; `iterations`: of each. */
tree
references_of(const nest *nest, const tree *iterations)
{
	tree sum = size_zero_node, times = size_one_node;

	for (unsigned i = 0; i < nest->loops.length(); i++) {
		times = fold_build2(MULT_EXPR, sizetype, times, iterations[i]);
		sum = fold_build2(
			PLUS_EXPR, sizetype, sum,
			fold_build2(MULT_EXPR, sizetype, times, size_int(nest->loops[i]->references.length())));
	}
	return sum;
}

/* What the nest is, and then each of its references. */
gimple_seq
calls_at_nest(const nest *nest, const tree *texts, const tree *iterations)
{
	const unsigned levels = nest->loops.length();
	gimple_seq statements = NULL;
	unsigned which = levels << 16;
	tree passed[LEVELS_MAX];

	for (unsigned i = 0; i < LEVELS_MAX; i++)
		passed[i] = i < levels ? iterations[i] : size_zero_node;
	for (unsigned i = 0; i < levels; i++)
		which |= nest->loops[i]->carries << 2 * i;
	add_call(&statements,
	         gimple_build_call(callee.nest, 6, texts[levels - 1], build_int_cst(unsigned_type_node, which),
	                           passed[0], passed[1], passed[2], passed[3]),
	         nest->loops[0]->where);
	for (unsigned i = 0; i < nest->parts.length(); i++) {
		const nest_part &part = nest->parts[i];
		const tree base = value_of(part.base, ptr_type_node, &statements);

		for (unsigned k = 0; k < LEVELS_MAX; k++)
			passed[k] = k <= part.level ? value_of(part.steps[k], ssizetype, &statements) : ssize_int(0);
		which = part.number | (part.level + 1) << 16 | (part.behind ? BEHIND << 16 : 0) |
		        (part.within ? WITHIN << 16 : 0);
		add_call(&statements,
		         gimple_build_call(callee.part, 7, texts[part.level], build_int_cst(unsigned_type_node, which),
		                           base, passed[0], passed[1], passed[2], passed[3]),
		         gimple_location(part.loop->references[part.number].statement));
	}
	return statements;
}

void
write_nest(const nest *nest)
{
	const basic_block block = split_edge(loop_preheader_edge(nest->loops[0]->loop));
	gimple_stmt_iterator at = gsi_start_bb(block);
	gimple_seq counting = NULL;
	tree texts[LEVELS_MAX], iterations[LEVELS_MAX], left, count;
	gimple *last;

	for (unsigned i = 0; i < nest->loops.length(); i++) {
		texts[i] = describe(nest->loops[i]);
		iterations[i] = value_of(nest->iterations[i], sizetype, &counting);
	}
	count = value_of(references_of(nest, iterations), ssizetype, &counting);
	last = count_down(&counting, block, count, &left);
	gsi_insert_seq_after(&at, counting, GSI_NEW_STMT);
	write_rare_counting(last, left, calls_at_nest(nest, texts, iterations));
}

/* The place behind all of a block, but for what ends it. NULL: it is empty. */
gimple *
last_to_follow(basic_block block)
{
	gimple_stmt_iterator at = gsi_last_nondebug_bb(block);

	if (!gsi_end_p(at) && stmt_ends_bb_p(gsi_stmt(at)))
		gsi_prev_nondebug(&at);
	return gsi_end_p(at) ? NULL : gsi_stmt(at);
}

/* Calls with the addresses of references from `first` on, as far as they are in the block; *next is behind those. */
gimple_seq
touches_in(const described *loop, tree text, basic_block block, unsigned first, unsigned *next)
{
	gimple_seq touches = NULL;
	unsigned i = first;

	for (; i < loop->references.length() && gimple_bb(loop->references[i].statement) == block; i++) {
		const reference &ref = loop->references[i];
		const tree address = value_of(ref.address, ptr_type_node, &touches);

		add_call(&touches,
		         gimple_build_call(callee.touch, 3, text, build_int_cst(unsigned_type_node, i), address),
		         gimple_location(ref.statement));
	}
	*next = i;
	return touches;
}

/* Each block with references, but for `done`, says their addresses if the countdown is negative there. */
void
write_touches(const described *loop, tree text, basic_block done)
{
	unsigned next = 0;

	while (next < loop->references.length()) {
		const basic_block block = gimple_bb(loop->references[next].statement);
		gimple *last = last_to_follow(block), *load;
		gimple_seq touches;
		gimple_stmt_iterator at;
		tree left;

		if (block == done) {
			next++;
			continue;
		}
		touches = touches_in(loop, text, block, next, &next);
		left = make_ssa_name(ssizetype);
		load = gimple_build_assign(left, left_in(block));
		at = gsi_for_stmt(last);
		gsi_insert_after(&at, load, GSI_SAME_STMT);
		write_rare(load, left, touches);
	}
}

/* The first block that has references, and that each iteration passes. NULL: there is none. */
basic_block
first_block(const described *loop)
{
	for (unsigned i = 0; i < loop->references.length(); i++) {
		const basic_block block = gimple_bb(loop->references[i].statement);

		if (dominated_by_p(CDI_DOMINATORS, loop->loop->latch, block))
			return block;
	}
	return NULL;
}

/*
 * Each iteration is counted, behind the first references that it makes. If these are all in one block, there is one
 * branch. Those behind look at the countdown again: what was called since may have begun or ended a burst, and an
 * iteration that has only a part of its references does no harm.
 */
void
write_countdown(const described *loop, tree text)
{
	const basic_block block = first_block(loop), counted = block ? block : loop->loop->header;
	gimple_stmt_iterator at = block ? gsi_for_stmt(last_to_follow(block)) : gsi_after_labels(counted);
	gimple_seq counting = NULL, calls = NULL;
	unsigned first = 0;
	gimple *last;
	tree left;

	last = count_down(&counting, counted, build_int_cst(ssizetype, loop->references.length()), &left);
	add_call(&calls, gimple_build_call(callee.counted, 0), loop->where);
	if (block) {
		while (gimple_bb(loop->references[first].statement) != block)
			first++;
		gimple_seq_add_seq(&calls, touches_in(loop, text, block, first, &first));
		gsi_insert_seq_after(&at, counting, GSI_SAME_STMT);
	} else {
		gsi_insert_seq_before(&at, counting, GSI_SAME_STMT);
	}
	write_rare_counting(last, left, calls);
	write_touches(loop, text, block);
}

/*
 * On an edge: an event of a text that counts no references. A thread that begins has counted none, and records what it
 * does from there on.
 */
void
write_event(edge where, tree text, tree iterations)
{
	const basic_block block = split_edge(where);
	gimple_stmt_iterator at = gsi_start_bb(block);
	gimple_seq statements = NULL;
	const tree left = make_ssa_name(ssizetype);
	gimple *load = gimple_build_assign(left, left_in(block));
	const tree count = value_of(iterations, sizetype, &statements);

	gsi_insert_after(&at, load, GSI_NEW_STMT);
	gimple_seq_add_stmt(&statements, gimple_build_call(callee.loop, 2, text, count));
	write_rare_counting(load, left, statements, 1);
}

void
write_loop(const described *loop)
{
	const tree text = describe(loop);

	if (numbered.is_on && !loop->by_entry && loop->latches)
		write_event(loop_preheader_edge(loop->loop), text, loop->latches);
	if (loop->by_entry)
		write_entry(loop, text);
	else if (loop->by_exits)
		write_exits(loop, text);
	else if (loop->loop->inner)
		write_touches(loop, text, NULL); /* the loops in it count */
	else
		write_countdown(loop, text);
}

/* ---- loops in two versions ---- */

/* Whether it is small, and nothing in it, as a label of inline assembly, must be there once only. */
bool
is_cheap_to_copy(const class loop *loop)
{
	basic_block *blocks = get_loop_body(loop);
	unsigned statements = 0;
	bool has_assembly = false;

	for (unsigned i = 0; i < loop->num_nodes; i++) {
		for (gimple_stmt_iterator at = gsi_start_nondebug_bb(blocks[i]); !gsi_end_p(at);
		     gsi_next_nondebug(&at)) {
			statements++;
			has_assembly |= gimple_code(gsi_stmt(at)) == GIMPLE_ASM;
		}
	}
	free(blocks);
	return statements <= COPIED_STATEMENTS && !has_assembly && can_duplicate_loop_p(loop);
}

/* Whether it is known when the loop is entered how often it runs, but not what it refers to. */
bool
may_be_copied(const described *loop, function *function)
{
	return !numbered.is_on && loop->latches && !loop->by_entry && !loop->by_exits && !loop->loop->inner &&
	       !loop->references.is_empty() && may_count_in_register(loop->loop) && is_cheap_to_copy(loop->loop) &&
	       !optimize_function_for_size_p(function);
}

/* Before the loop: what will be left behind it. */
tree
write_left_behind(const described *loop)
{
	const tree before = make_ssa_name(ssizetype), left = make_ssa_name(ssizetype);
	const tree iterations =
		fold_build2(PLUS_EXPR, sizetype, fold_convert(sizetype, unshare_expr(loop->latches)), size_one_node);
	const tree count = fold_build2(MULT_EXPR, sizetype, iterations, size_int(loop->references.length()));
	gimple_seq counting = NULL;
	const tree by = value_of(count, ssizetype, &counting);
	gimple_stmt_iterator at;

	gimple_seq_add_stmt(&counting, gimple_build_assign(before, callee.left));
	gimple_seq_add_stmt(&counting, gimple_build_assign(left, MINUS_EXPR, before, by));
	at = gsi_start_bb(split_edge(loop_preheader_edge(loop->loop)));
	gsi_insert_seq_after(&at, counting, GSI_NEW_STMT);
	return left;
}

/* The loop runs as it did, if no burst begins in it; else another version of it, where each reference is watched. */
void
copy_loop(class loop *loop, tree left)
{
	const profile_probability rare = profile_probability::very_unlikely(), often = rare.invert();
	class loop *copy;

	initialize_original_copy_tables();
	copy = loop_version(loop, build2(LT_EXPR, boolean_type_node, left, build_int_cst(ssizetype, 0)), NULL, rare,
	                    often, rare, often, true);
	free_original_copy_tables();
	if (!copy)
		return;
	gsi_insert_on_edge_immediate(loop_preheader_edge(copy), gimple_build_assign(callee.left, left));
	bitmap_set_bit(copies, copy->num);
}

/*
 * Loops that are not described when they are entered would count each iteration. Where it is known how many there are,
 * that is done for loops that may have a burst in them alone.
 */
void
copy_loops(function *function)
{
	auto_vec<class loop *> found;
	auto_vec<tree> left;

	for (auto loop : loops_list(function, LI_ONLY_INNERMOST)) {
		described *looked_at = look_at_loop(loop);

		if (may_be_copied(looked_at, function)) {
			found.safe_push(loop);
			left.safe_push(write_left_behind(looked_at));
		}
		delete looked_at;
	}
	if (found.is_empty())
		return;
	for (unsigned i = 0; i < found.length(); i++)
		copy_loop(found[i], left[i]);
	mark_virtual_operands_for_renaming(function);
	update_ssa(TODO_update_ssa);
	if (loops_state_satisfies_p(LOOP_CLOSED_SSA))
		rewrite_into_loop_closed_ssa(NULL, TODO_update_ssa);
	free_dominance_info(CDI_POST_DOMINATORS);
	free_dominance_info(CDI_DOMINATORS);
	calculate_dominance_info(CDI_DOMINATORS);
	scev_reset();
}

/* ---- the pass ---- */

const pass_data locality_data = {
	GIMPLE_PASS, "dcpilocality", OPTGROUP_LOOP, TV_NONE, PROP_cfg | PROP_ssa, 0, 0, 0, TODO_cleanup_cfg,
};

class locality_pass : public gimple_opt_pass
{
      public:
	locality_pass(gcc::context *context) : gimple_opt_pass(locality_data, context)
	{
	}

	bool gate(function *function) final override
	{
		return !lookup_attribute("no_instrument_function", DECL_ATTRIBUTES(function->decl)) && !seen_error();
	}

	unsigned int execute(function *function) final override;
};

unsigned int
locality_pass::execute(function *function)
{
	const bool had_evolutions = scev_initialized_p();
	auto_vec<described *> loops;
	auto_vec<nest *> nests;
	auto_bitmap copied;
	tree text = NULL_TREE;
	bool writes = false;

	if (number_of_loops(function) <= 1)
		return 0;
	if (numbered.is_on)
		number_blocks(function);
	if (!had_evolutions) {
		loop_optimizer_init(LOOPS_NORMAL | LOOPS_HAVE_RECORDED_EXITS);
		scev_initialize();
	}
	if (numbered.is_on)
		number_new_blocks(function);
	calculate_dominance_info(CDI_DOMINATORS);
	if (!callee.left)
		declare_callees();
	copies = copied;
	mark_irreducible_loops();
	copy_loops(function);
	for (auto loop : loops_list(function, LI_FROM_INNERMOST)) {
		if (!bitmap_bit_p(copies, loop->num))
			loops.safe_push(look_at_loop(loop));
	}
	for (unsigned i = 0; i < loops.length(); i++) {
		nest *found = look_at_nest(loops, loops[i]);

		if (found)
			nests.safe_push(found);
	}
	choose_registers(function);
	/* all is known before the first is written: writing makes other blocks of the loops around it */
	for (unsigned i = 0; i < loops.length(); i++)
		writes |= !loops[i]->references.is_empty();
	if (numbered.is_on && writes)
		text = describe_function(function);
	for (unsigned i = 0; i < nests.length(); i++)
		write_nest(nests[i]);
	for (unsigned i = 0; i < loops.length(); i++) {
		if (!loops[i]->in_nest && !loops[i]->references.is_empty())
			write_loop(loops[i]);
		else if (!loops[i]->in_nest && text && loops[i]->latches)
			write_event(loop_preheader_edge(loops[i]->loop), describe(loops[i]), loops[i]->latches);
	}
	if (text)
		write_event(single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(function)), text, size_one_node);
	write_registers(function);
	for (unsigned i = 0; i < nests.length(); i++)
		delete nests[i];
	for (unsigned i = 0; i < loops.length(); i++)
		delete loops[i];
	if (!had_evolutions) {
		scev_finalize();
		loop_optimizer_finalize();
	}
	if (!writes)
		return 0;
	scev_reset();
	mark_irreducible_loops(); /* what was written there belongs to them */
	mark_virtual_operands_for_renaming(function);
	if (loops_state_satisfies_p(LOOP_CLOSED_SSA))
		rewrite_into_loop_closed_ssa(NULL, TODO_update_ssa);
	return TODO_update_ssa;
}

} // namespace

__attribute__((visibility("default"))) int
plugin_init(struct plugin_name_args *arguments, struct plugin_gcc_version *version)
{
	const size_t length = strlen(arguments->base_name);
	struct register_pass_info info;

	if (!plugin_default_version_check(version, &gcc_version)) {
		fprintf(stderr, "%s: this is for GCC %s, and GCC %s compiles: 'dcpiloc --cflags' names the right one\n",
		        arguments->full_name, gcc_version.basever, version->basever);
		return 1;
	}
	/* GCC takes no arguments for plugins with a '-' in their names: the file has another name */
	numbered.is_on = length >= strlen(SOURCE_NAME) &&
	                 strcmp(arguments->base_name + length - strlen(SOURCE_NAME), SOURCE_NAME) == 0;
	info.pass = new locality_pass(g);
	info.reference_pass_name = numbered.is_on ? "ssa" : "vect";
	info.ref_pass_instance_number = 1;
	info.pos_op = PASS_POS_INSERT_AFTER;
	register_callback(arguments->base_name, PLUGIN_PASS_MANAGER_SETUP, NULL, &info);
	register_callback(arguments->base_name, PLUGIN_REGISTER_GGC_ROOTS, NULL,
	                  const_cast<struct ggc_root_tab *>(callee_roots));
	return 0;
}

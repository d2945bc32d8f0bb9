/** Values of a plan that may contain `${{NAME}}` references. */

/** Text that may contain references. */
export type Template = string
/** A boolean, or text that must resolve to a boolean. */
export type FlagTemplate = boolean | Template
/** JSON whose strings may contain references. */
export type JsonTemplate = null | boolean | number | Template | readonly JsonTemplate[] | { readonly [key: string]: JsonTemplate }

/** The same fields, with flags as booleans. */
export type Filled<A> = { readonly [K in keyof A]: boolean extends A[K] ? Exclude<A[K], string> : A[K] }

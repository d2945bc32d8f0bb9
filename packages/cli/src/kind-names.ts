/** Kinds of things, by the words that `get` knows. */
export const KIND_NAMES = ['pipelines', 'builds', 'runtimes', 'agents', 'projects', 'contexts', 'keys', 'step-types'] as const
export type KindName = (typeof KIND_NAMES)[number]

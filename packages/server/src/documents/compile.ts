/** Compilation of documents into plans: small ones on the event loop, others in the document process, with the step types of the account if needed. */
import { defined, sha256 } from '@windlass/kit'
import type { CatalogEntry, Compiled, CompileOptions, Source } from '@windlass/pipeline'
import type { App } from '../app.ts'
import { findStepType, listStepTypeHeads } from '../store/pipelines/step-types.ts'
import { isSmall, type CompileJob, type CompileResult } from './document-jobs.ts'

type Options = Omit<CompileOptions, 'stepTypes'>

const MAX_CACHED = 200
const cache = new Map<string, Compiled>()

/** Codes of problems that depend on variables and step types, not on the document alone. */
const DEPENDING: readonly string[] = ['step-type', 'type-variable']

/** Maximum nesting of step types. Each round loads one level. */
const MAX_ROUNDS = 12

/** Compiles a document. `frozen` are step types to use instead of the current ones. Throws as `DocumentPool.read` does. */
export async function compileDocument(
  app: App,
  source: Source,
  { variables, frozen, ...options }: Options & { readonly frozen?: readonly CatalogEntry[] | undefined },
): Promise<Compiled> {
  const plain = await compilePlain(app, source, options)
  if (plain.problems.every(({ code }) => !DEPENDING.includes(code))) return plain
  const all = { ...options, ...defined({ variables }) }
  if (frozen !== undefined) return (await run(app, { source, options: all, types: { frozen } })).compiled
  return compileWithTypes(app, source, all)
}

/**
 * Compiles without step types, which most documents do not use. Results for small documents are cached, because compiling is pure and the same
 * documents are built repeatedly.
 */
async function compilePlain(app: App, source: Source, options: Options): Promise<Compiled> {
  if (!isSmall(source.text)) return (await app.documentPool.read('compile', { source, options }, source.text)).compiled
  const about = JSON.stringify({ ...options, variables: [...(options.account?.variables ?? [])] })
  const key = sha256(`${source.file}\n${about}\n${source.text}`)
  const known = cache.get(key)
  if (known !== undefined) return known
  if (cache.size >= MAX_CACHED) cache.clear()
  const { compiled } = await app.documentPool.read('compile', { source, options }, source.text)
  cache.set(key, compiled)
  return compiled
}

/**
 * Compiles with the step types of the account, then the built-in ones. A catalog is synchronous and the store is not, so missing step types that exist
 * are loaded and the document is compiled again.
 */
async function compileWithTypes(app: App, source: Source, options: Options): Promise<Compiled> {
  const heads = (await listStepTypeHeads(app.store.query, app.accountId)).map(({ name, version }) => ({ name, version }))
  const loaded: CatalogEntry[] = []
  for (let round = 1; ; round += 1) {
    const { compiled, missing } = await run(app, { source, options, types: { heads, loaded } })
    if (missing.length === 0 || round >= MAX_ROUNDS) return compiled
    for (const { name, version } of missing) {
      const row = await findStepType(app.store.query, app.accountId, { name, version })
      loaded.push({ name, version, text: row?.manifest ?? '' })
    }
  }
}

/** Compiles in the process, because a small document may use large step types many times. */
function run(app: App, job: CompileJob): Promise<CompileResult> {
  return app.documentPool.read('compile', job, job.source.text, 'process')
}

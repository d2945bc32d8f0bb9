/** Compilation of a build document into a plan, with the step types of the account or those that an earlier build used. */
import { defined } from '@windlass/kit/defined'
import type { AccountContext, CatalogEntry, Compiled, Source } from '@windlass/pipeline'
import type { MainClone, VariableLayer } from '@windlass/plan'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { readCompositions } from '../../contexts/compositions.ts'
import { compileDocument } from '../../documents/compile.ts'
import type { BuildPlanRow } from '../../store/schema/schema.ts'

export interface ForBuild {
  readonly variables: readonly VariableLayer[]
  /** If set, references of steps to resources of the account are checked. */
  readonly account?: AccountContext | undefined
  /** Adds a step `main_clone` to a document without one. */
  readonly mainClone?: MainClone | undefined
  /** Step types to use instead of the current ones. */
  readonly frozen?: readonly CatalogEntry[] | undefined
}

export async function compileForBuild(
  app: App,
  source: Source,
  { variables, frozen, account, mainClone }: ForBuild,
): Promise<Compiled> {
  const compositions = await readCompositions(app, source.text)
  return compileDocument(app, source, { variables, frozen, compositions, ...defined({ account, mainClone }) })
}

const Entries = z.array(z.object({ name: z.string(), version: z.string(), text: z.string() }))

/** Returns the step types that were used when the build was created. */
export function readStepTypes(stored: BuildPlanRow): CatalogEntry[] {
  return stored.step_types === null ? [] : Entries.parse(JSON.parse(stored.step_types))
}

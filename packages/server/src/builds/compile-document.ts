/** The document of a build to its plan, with the step types that the account has, or those that an earlier build was made with. */
import { sha256 } from '@windlass/kit'
import {
  compile,
  type AccountContext,
  type CatalogEntry,
  type Compiled,
  type CompileOptions,
  type Source,
} from '@windlass/pipeline'
import type { VariableLayer } from '@windlass/plan'
import { z } from 'zod'
import type { App } from '../app.ts'
import { readCompositions } from '../contexts/compositions.ts'
import { compileFrozen, compileWithTypes } from '../step-types/load-catalog.ts'
import type { BuildPlanRow } from '../store/schema.ts'

const MAX_COMPILED = 200
const compiled = new Map<string, Compiled>()

/** Compiling is pure, and the same few documents are built again and again. */
function compileCached({ text, file }: Source, options: Pick<CompileOptions, 'account' | 'compositions'>): Compiled {
  const about = JSON.stringify({ ...options, variables: [...(options.account?.variables ?? [])] })
  const key = sha256(`${file}\n${about}\n${text}`)
  const known = compiled.get(key)
  if (known !== undefined) return known
  if (compiled.size >= MAX_COMPILED) compiled.clear()
  const fresh = compile({ text, file }, options)
  compiled.set(key, fresh)
  return fresh
}

export interface ForBuild {
  readonly variables: readonly VariableLayer[]
  /** What steps name in the account is checked when it is known. */
  readonly account?: AccountContext | undefined
  /** Step types to use in place of those that there are now. */
  readonly frozen?: readonly CatalogEntry[] | undefined
}

/** Codes of what depends on variables and step types, and not on the document alone. */
const DEPENDING: readonly string[] = ['step-type', 'type-variable']

/** Compiles the document of a build. */
export async function compileForBuild(app: App, source: Source, { variables, frozen, account }: ForBuild): Promise<Compiled> {
  const known = { compositions: await readCompositions(app, source.text), ...(account !== undefined && { account }) }
  const plain = compileCached(source, known)
  if (plain.problems.every(({ code }) => !DEPENDING.includes(code))) return plain
  const options = { variables, ...known }
  return frozen === undefined ? compileWithTypes(app, source, options) : compileFrozen(source, options, frozen)
}

const Entries = z.array(z.object({ name: z.string(), version: z.string(), text: z.string() }))

/** The step types that a build was made with. */
export function readStepTypes(stored: BuildPlanRow): CatalogEntry[] {
  return stored.step_types === null ? [] : Entries.parse(JSON.parse(stored.step_types))
}

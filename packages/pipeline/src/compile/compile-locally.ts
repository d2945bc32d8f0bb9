/** Compiles a document with the variables of a build that is only planned or runs on one machine. The command line and the editor of the page use it. */
import { builtinVariables, type BuildFacts, type MainClone, type Plan, type Variable, type VariableLayer } from '@windlass/plan'
import { isMainCloneSkipped, possibleMainClone, type MainCloneSettings } from '../draft/main-clone.ts'
import type { Diagnostic } from '../language/diagnostic.ts'
import { BUILT_IN_CATALOG } from '../typed/built-in.ts'
import type { StepCatalog } from '../typed/catalog.ts'
import { compile, type Compiled } from './compile.ts'
import { documentKind, readPipelineDocument, type PipelineDocument } from './pipeline-document.ts'

export interface LocalPlanInput {
  readonly source: { readonly text: string; readonly file: string }
  readonly facts: BuildFacts
  readonly variables: Readonly<Record<string, string>>
  readonly secrets: Readonly<Record<string, string>>
  /** Default: the built-in step types. */
  readonly stepTypes?: StepCatalog | undefined
  /** Adds a step `main_clone` to a document without one, unless the pipeline or a variable turns it off. */
  readonly mainClone?: MainClone | undefined
  /** True for a plan that is only shown. It has the automatic clone that the pipeline turns on, which a local build does not run. */
  readonly isPreview?: boolean | undefined
  /** The document that `source` refers to, after it was read. */
  readonly steps?: { readonly text: string; readonly file: string } | undefined
}

export interface LocalPlan {
  readonly plan: Plan
  /** Values of secret variables by the names that the plan uses. */
  readonly secrets: Readonly<Record<string, string>>
}

export interface CompiledLocally {
  /** Undefined if there are errors. */
  readonly local?: LocalPlan
  readonly problems: readonly Diagnostic[]
}

/** Compiles an inline document or a `kind: pipeline` document with its variables. Pure. */
export function compileLocally({
  source,
  facts,
  variables,
  secrets,
  stepTypes = BUILT_IN_CATALOG,
  steps,
  ...choice
}: LocalPlanInput): CompiledLocally {
  const read = documentKind(source.text) === 'pipeline' ? readPipelineDocument(source) : undefined
  const document = read?.document
  const own = document === undefined ? undefined : documentLayer(document)
  const layers: VariableLayer[] = [
    { level: 'system', variables: toValues(builtinVariables({ ...facts, pipeline: document?.name ?? facts.pipeline })) },
    ...(own === undefined ? [] : [own.layer]),
    { level: 'build', variables: { ...toValues(variables), ...toSecrets(secrets, 'build') } },
  ]
  const mainClone = isMainCloneSkipped(layers) ? undefined : chooseMainClone(document?.settings.mainClone, choice)
  const options = { variables: layers, stepTypes, mainClone, checksSource: true }
  const outer = compile(source, options)
  const compiled = steps === undefined ? outer : withResources(outer, compile(steps, options))
  if (compiled.plan === undefined) return { problems: compiled.problems }
  const values = {
    ...own?.secrets,
    ...Object.fromEntries(Object.entries(secrets).map(([name, value]) => [`build/${name}`, value])),
  }
  return { problems: compiled.problems, local: { plan: compiled.plan, secrets: values } }
}

function chooseMainClone(
  settings: MainCloneSettings = {},
  { mainClone, isPreview = false }: Pick<LocalPlanInput, 'mainClone' | 'isPreview'>,
): MainClone | undefined {
  if (settings.automatic === false) return undefined
  return mainClone ?? (isPreview ? possibleMainClone(settings, false) : undefined)
}

/** Returns the plan of the referenced document with the external resources of the document that refers to it. */
function withResources(outer: Compiled, inner: Compiled): Compiled {
  const { plan, problems } = inner
  const all = { ...inner, problems: [...outer.problems, ...problems] }
  const resources = outer.plan?.externalResources
  return plan === undefined || resources === undefined ? all : { ...all, plan: { ...plan, externalResources: resources } }
}

function documentLayer(document: PipelineDocument): { layer: VariableLayer; secrets: Record<string, string> } {
  const { variables } = document.settings
  const sealed = variables.filter(({ encrypted }) => encrypted)
  return {
    layer: {
      level: 'pipeline',
      source: document.name,
      variables: Object.fromEntries(
        variables.map(({ name, value, encrypted }): [string, Variable] => [
          name,
          encrypted ? { secret: `pipeline/${name}` } : { value },
        ]),
      ),
    },
    secrets: Object.fromEntries(sealed.map(({ name, value }) => [`pipeline/${name}`, value])),
  }
}

function toValues(values: Readonly<Record<string, string>>): VariableLayer['variables'] {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]))
}

function toSecrets(values: Readonly<Record<string, string>>, source: string): VariableLayer['variables'] {
  return Object.fromEntries(Object.keys(values).map((name) => [name, { secret: `${source}/${name}` }]))
}

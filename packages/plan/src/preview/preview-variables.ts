/** The variables that a build starts with, their sources, and which value overrides which. */
import { isProtectedVariable } from '../expression/builtin-variables.ts'
import type { Plan, VariableLevel } from '../plan.ts'
import { VARIABLE_LEVELS } from '../plan.ts'
import type { BuildScope } from '../expression/build-scope.ts'
import { substitute } from '../expression/substitute.ts'

export interface PreviewVariable {
  readonly name: string
  readonly level: VariableLevel
  /** Name of the context, pipeline or project. */
  readonly source?: string | undefined
  /** With references substituted; absent for secrets. */
  readonly value?: string | undefined
  readonly isSecret: boolean
  /** The level whose value is used instead. */
  readonly overriddenBy?: VariableLevel | undefined
}

/** Returns the variables sorted by name; for each name the effective one comes first. */
export function previewVariables(plan: Plan, scope: BuildScope): PreviewVariable[] {
  const layers = plan.variables.toSorted((a, b) => VARIABLE_LEVELS.indexOf(b.level) - VARIABLE_LEVELS.indexOf(a.level))
  const found = new Map<string, PreviewVariable[]>()
  for (const { level, source, variables } of layers) {
    for (const [name, variable] of Object.entries(variables)) {
      const one: PreviewVariable = {
        name,
        level,
        ...(source !== undefined && { source }),
        ...('value' in variable && { value: substitute(variable.value, scope).text }),
        isSecret: 'secret' in variable,
      }
      found.set(name, [...(found.get(name) ?? []), one])
    }
  }
  return [...found.keys()].toSorted().flatMap((name) => ranked(name, found.get(name) ?? []))
}

function ranked(name: string, all: readonly PreviewVariable[]): PreviewVariable[] {
  const system = all.find(({ level }) => level === 'system')
  const winner = (isProtectedVariable(name) ? system : undefined) ?? all[0]
  if (winner === undefined) return []
  return [winner, ...all.filter((one) => one !== winner).map((one) => ({ ...one, overriddenBy: winner.level }))]
}

/** Documents for tests. */
import type { Plan } from '@windlass/plan'
import { compile } from '../src/index.ts'
import type { Diagnostic } from '../src/index.ts'

/** Returns `line:column severity code message` of every problem. */
export function formatProblems(problems: readonly Diagnostic[]): string[] {
  return problems.map(({ line, column, severity, code, message }) => `${line}:${column} ${severity} ${code} ${message}`)
}

/** Returns all problems of a document. */
export function problemsOf(text: string): string[] {
  return formatProblems(compile({ text, file: 'test.yml' }).problems)
}

/** Returns only the messages. */
export function messagesOf(text: string): string[] {
  return compile({ text, file: 'test.yml' }).problems.map(({ message }) => message)
}

/** Returns the plan of a valid document. */
export function planOf(text: string): Plan {
  const { plan, problems } = compile({ text, file: 'test.yml' })
  if (plan === undefined) throw new Error(formatProblems(problems).join('\n'))
  return plan
}

/** Returns a document of one step with these lines, indented as they are. */
export function oneStep(...lines: string[]): string {
  return ["version: '1.0'", 'steps:', '  it:', ...lines.map((line) => `    ${line}`), ''].join('\n')
}

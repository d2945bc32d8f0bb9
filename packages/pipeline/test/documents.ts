/** Documents for tests. */
import type { Plan } from '@windlass/plan'
import { compile } from '../src/index.ts'
import type { Diagnostic } from '../src/index.ts'

/** `line:column severity code message` of every problem. */
export function told(problems: readonly Diagnostic[]): string[] {
  return problems.map(({ line, column, severity, code, message }) => `${line}:${column} ${severity} ${code} ${message}`)
}

/** Everything that is wrong with a document. */
export function problemsOf(text: string): string[] {
  return told(compile({ text, file: 'test.yml' }).problems)
}

/** Messages alone. */
export function messagesOf(text: string): string[] {
  return compile({ text, file: 'test.yml' }).problems.map(({ message }) => message)
}

/** The plan of a document that must have one. */
export function planOf(text: string): Plan {
  const { plan, problems } = compile({ text, file: 'test.yml' })
  if (plan === undefined) throw new Error(told(problems).join('\n'))
  return plan
}

/** A document of one step with these lines, indented as they are. */
export function oneStep(...lines: string[]): string {
  return ["version: '1.0'", 'steps:', '  it:', ...lines.map((line) => `    ${line}`), ''].join('\n')
}

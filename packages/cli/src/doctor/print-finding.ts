import type { Printer } from '../printer.ts'
import type { Finding } from '../runner/acceptance/finding.ts'

/** Prints a finding with its hint, or as a line of JSON. */
export function printFinding(out: Printer, finding: Finding, output: 'json' | undefined): void {
  if (output === 'json') return out.line(JSON.stringify(finding))
  const { style } = out.stdout
  const { check, status, message, hint } = finding
  const marks = { pass: style.green('✔'), warn: style.yellow('!'), fail: style.red('✘') }
  out.line(`${marks[status]} ${style.bold(check)}  ${message}`)
  if (hint !== undefined && status !== 'pass') out.line(`  ${style.dim('→')} ${hint}`)
}

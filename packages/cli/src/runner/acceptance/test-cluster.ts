/** The acceptance tests that a cluster must pass before a Runner is installed. */
import { fault, sentences } from '@windlass/kit/faults'
import type { Printer } from '../../printer.ts'
import type { ClusterTest, Finding, Subject } from './finding.ts'
import { testNodes } from './nodes.ts'
import { testRights } from './rights.ts'
import { testVersion } from './version.ts'

/** The tests in output order. A test that throws is a finding. */
export const CLUSTER_TESTS: Readonly<Record<string, ClusterTest>> = {
  version: testVersion,
  nodes: testNodes,
  rights: testRights,
}

/** Runs all tests concurrently. */
export async function testCluster(
  subject: Subject,
  tests: Readonly<Record<string, ClusterTest>> = CLUSTER_TESTS,
): Promise<Finding[]> {
  const found = await Promise.all(
    Object.entries(tests).map(async ([check, test]): Promise<readonly Finding[]> => {
      try {
        return await test(subject)
      } catch (error) {
        const message = `The test could not run: ${error instanceof Error ? error.message : String(error)}`
        return [{ check, status: 'fail', message }]
      }
    }),
  )
  return found.flat()
}

/** Prints the findings. Throws `cluster-unfit` with all failures. */
export function requireFitCluster(findings: readonly Finding[], out: Printer): void {
  const { style } = out.stderr
  const marks = { pass: style.green('✓'), warn: style.yellow('!'), fail: style.red('✘') }
  for (const { check, status, message, hint } of findings)
    out.note(`  ${marks[status]} ${check}: ${status === 'pass' || hint === undefined ? message : sentences(message, hint)}`)
  const failed = findings.filter(({ status }) => status === 'fail')
  if (failed.length === 0) return
  throw fault('cluster-unfit', {
    message: failed.length === 1 ? (failed[0]?.message ?? '') : `The cluster fails ${failed.length} tests.`,
    problems: failed.map(({ check, message }) => ({ path: check, message })),
  })
}

/** What changed since the last build in which the same step was approved. */
import { useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { Build, BuildComparison } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { paths } from '../../url/paths.ts'
import { buildQueries } from '../queries.ts'

interface ChangesProps {
  readonly build: Build
  /** Empty for the approval of the build before its start. */
  readonly step: string
}

export function ChangesSinceApproved({ build, step }: ChangesProps): ReactElement | null {
  const { data: decided } = useQuery({
    ...buildQueries.decisions(build.pipeline ?? ''),
    enabled: build.pipeline !== undefined,
  })
  const last = decided?.items.find(
    (item) => item.decision === 'approved' && item.step === step && item.build.number < build.number,
  )?.build
  const { data: comparison } = useQuery({ ...buildQueries.comparison(build.id, last?.id), enabled: last !== undefined })
  if (decided === undefined || (last !== undefined && comparison === undefined)) return null
  if (last === undefined || comparison === undefined) return <p>No earlier build of this pipeline was approved here.</p>
  return (
    <p>
      Since the last approved build <Link href={paths.build(last.id)}>#{last.number}</Link>: {changesIn(comparison)}.{' '}
      <Link href={paths.compare(build.id, last.id)}>See what changed</Link>
    </p>
  )
}

/** Returns what differs, such as `another commit, 2 variables, 1 image`. */
export function changesIn({ commit, document, variables, images, runtime }: BuildComparison): string {
  const revision = commit?.before?.revision !== commit?.after?.revision
  const parts = [
    revision ? 'another commit' : '',
    document === undefined ? '' : 'another document',
    variables.length === 0 ? '' : plural(variables.length, 'variable'),
    images.length === 0 ? '' : plural(images.length, 'image'),
    runtime === undefined ? '' : 'another runtime or version of it',
  ].filter((part) => part !== '')
  return parts.length === 0 ? 'nothing changed' : parts.join(', ')
}

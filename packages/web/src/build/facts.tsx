/** Where a build comes from, in one line, and since when its branch fails. */
import { useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import styles from './build.module.css'

export function Facts({ build }: { readonly build: Build }): ReactElement {
  const { branch, revision, commit, initiator, runtime, trigger } = build
  return (
    <div className={styles['facts']}>
      {branch !== undefined && <bdi className="mono">{branch}</bdi>}
      {revision !== undefined && <bdi className="mono">{revision.slice(0, 8)}</bdi>}
      {commit?.message !== undefined && <bdi className={styles['message']}>{commit.message}</bdi>}
      <bdi>{initiator}</bdi>
      <bdi>{trigger.name ?? trigger.kind}</bdi>
      {runtime !== undefined && <bdi>runtime {runtime}</bdi>}
      <When at={build.createdAt} />
      <Relations id={build.id} />
    </div>
  )
}

function Relations({ id }: { readonly id: string }): ReactElement | null {
  const { data } = useQuery(queries.related(id))
  if (data === undefined) return null
  const { parent, restartOf, lastGreen, firstRed, red } = data
  return (
    <>
      {parent !== undefined && <Link href={paths.build(parent.id)}>started by #{parent.number}</Link>}
      {restartOf !== undefined && <Link href={paths.build(restartOf.id)}>repeats #{restartOf.number}</Link>}
      {firstRed !== undefined && red !== undefined && firstRed.id !== id && (
        <span>
          failing since <Link href={paths.build(firstRed.id)}>#{firstRed.number}</Link> ({plural(red.builds, 'build')},{' '}
          {plural(red.commits, 'commit')})
        </span>
      )}
      {firstRed?.id === id && lastGreen !== undefined && (
        <span>
          first red after <Link href={paths.build(lastGreen.id)}>#{lastGreen.number}</Link>
        </span>
      )}
    </>
  )
}

/** Where a build comes from, in one line, and since when its branch fails. */
import { useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { GitBranch, GitCommitHorizontal, Server, User, Zap, type LucideIcon } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { Link } from 'wouter'
import { When } from '../parts/when.tsx'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import styles from './build.module.css'

export function Facts({ build }: { readonly build: Build }): ReactElement {
  const { branch, revision, commit, initiator, runtime, trigger } = build
  return (
    <div className={styles['facts']}>
      {branch !== undefined && (
        <Fact icon={GitBranch} name="Branch">
          <bdi className="mono">{branch}</bdi>
        </Fact>
      )}
      {revision !== undefined && (
        <Fact icon={GitCommitHorizontal} name="Commit">
          <bdi className="mono">{revision.slice(0, 8)}</bdi>
          {commit?.message !== undefined && <bdi className={styles['message']}>{commit.message}</bdi>}
        </Fact>
      )}
      <Fact icon={User} name="Started by">
        <bdi>{initiator}</bdi>
      </Fact>
      <Fact icon={Zap} name="Trigger">
        <bdi>{trigger.name ?? trigger.kind}</bdi>
      </Fact>
      {runtime !== undefined && (
        <Fact icon={Server} name="Runtime">
          <bdi>{runtime}</bdi>
        </Fact>
      )}
      <When at={build.createdAt} />
      <Relations id={build.id} />
    </div>
  )
}

interface FactProps {
  readonly icon: LucideIcon
  readonly name: string
  readonly children: ReactNode
}

function Fact({ icon: Icon, name, children }: FactProps): ReactElement {
  return (
    <span className={styles['fact']} title={name}>
      <Icon size={14} aria-hidden />
      <span className="unseen">{name}</span>
      {children}
    </span>
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

/** The versions of a pipeline: who changed it, when and why, what changed, and the way back. */
import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import type { Pipeline, PipelineDiff, PipelineVersion } from '@windlass/protocol'
import { ChevronDown, ChevronRight } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { Button, IconButton } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { When } from '../parts/when.tsx'
import { client } from '../server/client.ts'
import { queries } from '../server/queries.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { tell } from '../shell/toasts.tsx'
import { useParam } from '../url/search.ts'
import styles from './history.module.css'
import { versionQueries } from './version-queries.ts'

export function HistoryTab({ pipeline }: { readonly pipeline: Pipeline }): ReactElement {
  const { name } = pipeline
  const list = useInfiniteQuery(versionQueries.versions(name))
  const [opened, open] = useParam('version')
  const [restored, setRestored] = useState<PipelineVersion>()
  if (list.isPending) return <Loading rows={6} what="versions" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  const versions = list.data.pages.flatMap(({ items }) => items)
  if (versions.length === 0) return <Empty>The pipeline has no versions.</Empty>
  return (
    <div className={styles['history']}>
      <ol className={styles['versions']} aria-label="Versions, newest first">
        {versions.map((version) => (
          <VersionItem
            key={version.version}
            pipeline={name}
            version={version}
            isOpen={opened === String(version.version)}
            onToggle={() => open(opened === String(version.version) ? undefined : String(version.version))}
            onRestore={() => setRestored(version)}
          />
        ))}
      </ol>
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older versions
        </Button>
      )}
      <Command text={sh`windlass get pipelines ${name} --history`} />
      {restored !== undefined && <RestoreDialog pipeline={pipeline} version={restored} onClose={() => setRestored(undefined)} />}
    </div>
  )
}

interface ItemProps {
  readonly pipeline: string
  readonly version: PipelineVersion
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly onRestore: () => void
}

function VersionItem({ pipeline, version: shown, isOpen, onToggle, onRestore }: ItemProps): ReactElement {
  const { version, current, changedBy, message, createdAt } = shown
  const state = useSession()
  const away = useAway()
  const off = away ?? whyNot(state.kind === 'in' ? state.session : undefined, 'change-pipelines')
  return (
    <li className={styles['version']} data-open={isOpen}>
      <div className={styles['head']}>
        <IconButton
          label={isOpen ? `Hide what version ${version} changed` : `Show what version ${version} changed`}
          aria-expanded={isOpen}
          onClick={onToggle}
        >
          {isOpen ? <ChevronDown size={16} aria-hidden /> : <ChevronRight size={16} aria-hidden />}
        </IconButton>
        <strong className={styles['number']}>Version {version}</strong>
        <p className={styles['why']}>{message === undefined ? <span>No reason given</span> : <bdi>{message}</bdi>}</p>
        <p className={styles['who']}>
          <bdi>{changedBy ?? 'an earlier server'}</bdi> · <When at={createdAt} />
        </p>
        {current ? (
          <span className={styles['current']}>Current</span>
        ) : (
          <Button small off={off} aria-label={`Restore version ${version}`} onClick={onRestore}>
            Restore
          </Button>
        )}
      </div>
      {isOpen && <Differences pipeline={pipeline} version={version} />}
    </li>
  )
}

function Differences({ pipeline, version }: { readonly pipeline: string; readonly version: number }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(versionQueries.diff(pipeline, version))
  if (isPending) return <Loading rows={3} what="the differences" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  return (
    <div className={styles['diff']}>
      {data.from === undefined && <p>The first version that is kept.</p>}
      {data.changes.length + data.document.length === 0 && <p>The document and the settings are the same.</p>}
      <Changes changes={data.changes} />
      {data.document !== '' && <Patch text={data.document} label={`Changes of the document in version ${version}`} />}
      <Command
        text={sh`windlass diff pipelines ${pipeline} ${data.from === undefined ? [] : ['--first-version', String(data.from)]} --second-version ${version}`}
      />
    </div>
  )
}

function Changes({ changes }: Pick<PipelineDiff, 'changes'>): ReactElement | null {
  if (changes.length === 0) return null
  return (
    <dl className={styles['changes']}>
      {changes.map(({ path, ...sides }) => (
        <div key={path}>
          <dt>
            <bdi>{path}</bdi>
          </dt>
          {'from' in sides && <dd data-sign="-">{textOf(sides.from)}</dd>}
          {'to' in sides && <dd data-sign="+">{textOf(sides.to)}</dd>}
        </div>
      ))}
    </dl>
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Lines of a patch beyond this are not shown. */
const MOST_LINES = 2_000

function Patch({ text, label }: { readonly text: string; readonly label: string }): ReactElement {
  // The first two lines name the versions.
  const lines = text.trimEnd().split('\n').slice(2)
  return (
    <pre className={styles['patch']} tabIndex={0} role="region" aria-label={label}>
      {lines.slice(0, MOST_LINES).map((line, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- lines have no other identity
        <span key={index} data-sign={line.startsWith('@@') ? '@' : line.charAt(0)}>
          <bdi>{line}</bdi>
          {'\n'}
        </span>
      ))}
      {lines.length > MOST_LINES && <span data-sign="@">{`${lines.length - MOST_LINES} more lines`}</span>}
    </pre>
  )
}

interface RestoreProps {
  readonly pipeline: Pipeline
  readonly version: PipelineVersion
  readonly onClose: () => void
}

function RestoreDialog({ pipeline, version: { version }, onClose }: RestoreProps): ReactElement {
  const { name, revision } = pipeline
  const away = useAway()
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => client.pipelines.restore(name, version, { headers: { 'if-match': `"${revision}"` } }),
    onSuccess: (restored) => {
      tell({
        text:
          restored.revision === revision
            ? `The pipeline is already as in version ${version}.`
            : `Version ${restored.revision} has the content of version ${version}.`,
      })
      onClose()
    },
    // Also after a conflict, so that the next try compares with what is there now.
    onSettled: () => queryClient.invalidateQueries({ queryKey: queries.pipeline(name).queryKey }),
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Restore version ${version}?`}
      actions={
        <>
          <Button tone="primary" off={away} isBusy={isPending} onClick={() => mutate()}>
            Restore version {version}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <p>
        The document and the settings of <bdi>{name}</bdi> become those of version {version}, as a new version. Encrypted
        variables keep the values that they have now. Builds that run are not changed.
      </p>
      <Command text={sh`windlass restore pipelines ${name} --version ${version}`} />
      {error !== null && <Problem error={error} />}
    </Dialog>
  )
}

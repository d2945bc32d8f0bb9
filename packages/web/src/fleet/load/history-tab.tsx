/** The versions of a runtime: who changed it, when, why and what, and going back to one of them. */
import { useMutation, useQuery } from '@tanstack/react-query'
import type { Runtime, RuntimeVersion } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import { Table } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'
import { tell, tellProblem } from '../../shell/toasts.tsx'
import { useOff } from '../../shell/use-off.ts'
import { useParam } from '../../url/search.ts'
import styles from '../fleet.module.css'
import { fleet } from '../queries.ts'
import { saveRuntime } from '../save-runtime.ts'
import { writeValue } from '../spec/spec-values.ts'

export function HistoryTab({ runtime }: { readonly runtime: Runtime }): ReactElement {
  const { data, error, isPending, refetch } = useQuery(fleet.versions(runtime.name))
  const [shown, setShown] = useParam('version')
  if (isPending) return <Loading rows={5} what="the versions" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  return (
    <div className={styles['stack']}>
      <ul className={styles['list']} aria-label="Versions">
        {data.items.map((version, index) => (
          <Version
            key={version.version}
            runtime={runtime}
            version={version}
            before={data.items[index + 1]}
            isOpen={shown === String(version.version)}
            onToggle={(isOpen) => setShown(isOpen ? String(version.version) : undefined)}
          />
        ))}
      </ul>
      <Command text={sh`windlass get re ${runtime.name} --history`} />
    </div>
  )
}

interface VersionProps {
  readonly runtime: Runtime
  readonly version: RuntimeVersion
  readonly before: RuntimeVersion | undefined
  readonly isOpen: boolean
  readonly onToggle: (isOpen: boolean) => void
}

function Version({ runtime, version, before, isOpen, onToggle }: VersionProps): ReactElement {
  const { version: number, changedBy, createdAt, description, current } = version
  const off = useOff('manage-runners')
  const restore = useMutation({
    mutationFn: () => saveRuntime({ runtime, spec: version.spec, description: `version ${number} again` }),
    onSuccess: (saved) => tell({ text: `Version ${saved.version} has the values of version ${number}.` }),
    onError: tellProblem,
  })
  return (
    <li className={styles['version']}>
      <div className={styles['versionHead']}>
        <strong>Version {number}</strong>
        {current && <span className={styles['tag']}>current</span>}
        <span className={styles['main']}>
          <span>
            <bdi>{changedBy}</bdi> <When at={createdAt} />
          </span>
          {description !== undefined && (
            <span className="quiet">
              <bdi>{description}</bdi>
            </span>
          )}
        </span>
        <span className={styles['buttons']}>
          {before !== undefined && (
            <Button small aria-expanded={isOpen} onClick={() => onToggle(!isOpen)}>
              {isOpen ? 'Hide the changes' : 'Show the changes'}
            </Button>
          )}
          {!current && (
            <Button small off={off} isBusy={restore.isPending} onClick={() => restore.mutate()}>
              Use version {number} again
            </Button>
          )}
        </span>
      </div>
      {isOpen && before !== undefined && <Changes name={runtime.name} from={before.version} to={number} />}
    </li>
  )
}

interface ChangesProps {
  readonly name: string
  readonly from: number
  readonly to: number
}

function Changes({ name, from, to }: ChangesProps): ReactElement {
  const { data, error, isPending, refetch } = useQuery(fleet.diff(name, { from, to }))
  if (isPending) return <Loading rows={2} what="the changes" />
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (data.changes.length === 0) return <p className="quiet">No value changed, only the agent or the type.</p>
  const text = (change: object, side: 'from' | 'to', value: unknown): string => (side in change ? writeValue(value) : 'not set')
  return (
    <>
      <Table
        caption={`Changes from version ${from} to version ${to}`}
        rows={data.changes}
        keyOf={({ path }) => path}
        columns={[
          { head: 'Field', cell: ({ path }) => <bdi className="mono">{path}</bdi> },
          { head: `Version ${from}`, cell: (change) => <bdi className="mono">{text(change, 'from', change.from)}</bdi> },
          { head: `Version ${to}`, cell: (change) => <bdi className="mono">{text(change, 'to', change.to)}</bdi> },
        ]}
      />
      <Command text={sh`windlass diff re --first-name ${name} --first-version ${from} --second-version ${to}`} />
    </>
  )
}

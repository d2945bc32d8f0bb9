/** The objects of an application as a tree, those that need attention first. Without the runtime: those that it reported, as a list. */
import { useQuery } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import { APPLICATION_HEALTHS } from '@windlass/protocol'
import { ChevronDown, ChevronRight } from 'lucide-react'
import { Suspense, useMemo, useState, type ReactElement } from 'react'
import { Link } from 'wouter'
import { Status } from '../../looks/status.tsx'
import { Button } from '../../parts/button.tsx'
import cells from '../../parts/cells.module.css'
import { Command } from '../../parts/copy.tsx'
import { Empty } from '../../parts/empty.tsx'
import { StateButtons } from '../../parts/filters.tsx'
import layout from '../../parts/layout.module.css'
import { toProblem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import { Table } from '../../parts/table.tsx'
import { late } from '../../shell/late.tsx'
import { useParam } from '../../url/search.ts'
import styles from '../delivery.module.css'
import { deliveryQueries } from '../queries.ts'
import { lookOfHealth, lookOfSync } from '../states.ts'
import { nameOf } from './objects.ts'
import { countStates, findObject, rowsOf, toTree, type StateFilter, type TreeObject, type TreeRow } from './tree.ts'
import type { LiveApplication } from './use-live.ts'
import { useObject } from './use-object.ts'

/** A chunk of its own, because it has the writer of YAML and the reader of logs. */
const ObjectDrawer = late(async () => (await import('./object/object-drawer.tsx')).ObjectDrawer)

/** Rows that are shown at first, and with each further click. */
const PAGE_ROWS = 200
/** In pixels. */
const INDENT = 20
const FILTERS: readonly StateFilter[] = [undefined, 'out-of-sync', ...APPLICATION_HEALTHS]

export function ResourceTree({ live }: { readonly live: LiveApplication }): ReactElement {
  const { id, reported, now } = live
  const tree = useQuery({ ...deliveryQueries.tree(id, now?.isBusy === true), enabled: now !== undefined })
  const nodes = now === undefined || tree.error !== null ? undefined : tree.data
  const { resources } = now ?? reported
  const objects = useMemo(() => toTree(resources, nodes), [resources, nodes])
  const shown = useObject()
  const found = shown.name === undefined ? undefined : findObject(objects, shown.name)
  // The log of a pod stays open after its end.
  const [kept, setKept] = useState<TreeObject>()
  if (found !== undefined && found !== kept) setKept(found)
  const object = found ?? (kept?.key === shown.name ? kept : undefined)
  if (objects.length === 0) return <Empty>The application has no resources.</Empty>
  return (
    <div className={layout['tight']}>
      <Rows objects={objects} />
      {now === undefined && reported.resourceCount > resources.length && (
        <p className={layout['note']}>
          {plural(reported.resourceCount, 'resource')}, of which the {resources.length} that need attention most are shown.
        </p>
      )}
      {now !== undefined && tree.error !== null && (
        <p className={layout['note']} role="status">
          Only the objects of the source are shown. {toProblem(tree.error).message} {toProblem(tree.error).hint}
        </p>
      )}
      <Command text={sh`windlass gitops app tree ${reported.runtime} ${reported.name}`} />
      {object !== undefined && (
        <Suspense fallback={null}>
          <ObjectDrawer live={live} object={object} isGone={found === undefined} shown={shown} />
        </Suspense>
      )}
    </div>
  )
}

function Rows({ objects }: { readonly objects: readonly TreeObject[] }): ReactElement {
  const [given, setFilter] = useParam('state')
  const [opened, setOpened] = useState<ReadonlyMap<string, boolean>>(new Map())
  const [most, setMost] = useState(PAGE_ROWS)
  const filter = FILTERS.find((one) => one === given)
  const counts = useMemo(() => countStates(objects), [objects])
  const rows = useMemo(() => rowsOf(objects, { filter, opened }), [objects, filter, opened])
  const choices = FILTERS.filter((state) => counts.has(state) || state === filter).map((value) => ({
    value,
    label: (
      <>
        {wordOf(value)} <span>{counts.get(value) ?? 0}</span>
      </>
    ),
  }))
  return (
    <>
      <StateButtons label="State" choices={choices} current={filter} onChoose={setFilter} />
      {rows.length === 0 ? (
        <Empty action={<Button onClick={() => setFilter(undefined)}>Show all resources</Button>}>
          No resource has the state {wordOf(filter)}.
        </Empty>
      ) : (
        <Table
          caption="Resources"
          rows={rows.slice(0, most)}
          keyOf={({ object }) => object.key}
          columns={[
            {
              head: 'Object',
              cell: (row) => (
                <ObjectCell row={row} onToggle={() => setOpened(new Map([...opened, [row.object.key, row.isOpen === false]]))} />
              ),
            },
            {
              head: 'Health',
              cell: ({ object: { health } }) => health !== undefined && <Status look={lookOfHealth(health)} />,
            },
            { head: 'Sync', cell: ({ object: { sync } }) => sync !== undefined && <Status look={lookOfSync(sync)} /> },
            { head: 'Message', cell: ({ object: { message } }) => <bdi className={cells['why']}>{message}</bdi> },
          ]}
        />
      )}
      {rows.length > most && <Button onClick={() => setMost(most + PAGE_ROWS)}>Show more of {plural(rows.length, 'row')}</Button>}
    </>
  )
}

function wordOf(state: StateFilter): string {
  if (state === undefined) return 'All'
  return state === 'out-of-sync' ? lookOfSync(state).word : lookOfHealth(state).word
}

/** The kind and the name, indented below the object that has created it. */
function ObjectCell({ row, onToggle }: { readonly row: TreeRow; readonly onToggle: () => void }): ReactElement {
  const { object, depth, parent, isOpen } = row
  const { kind, group, name, namespace, isHook } = object
  const { hrefOf } = useObject()
  return (
    <div className={styles['object']} style={{ paddingLeft: depth * INDENT }}>
      {isOpen === undefined ? (
        <span className={styles['fold']} />
      ) : (
        <button
          type="button"
          className={styles['fold']}
          aria-expanded={isOpen}
          aria-label={`Objects of ${nameOf(object)}`}
          onClick={onToggle}
        >
          {isOpen ? <ChevronDown size={16} aria-hidden /> : <ChevronRight size={16} aria-hidden />}
        </button>
      )}
      <span className={cells['pair']}>
        <span>
          <Link href={hrefOf(object.key)}>
            <span className={styles['kind']}>{kind}</span> <bdi>{name}</bdi>
          </Link>
          {parent !== undefined && <span className="unseen">, created by {parent}</span>}
        </span>
        <bdi className={cells['more']}>{[namespace, group, isHook ? 'hook' : undefined].filter(Boolean).join(', ')}</bdi>
      </span>
    </div>
  )
}

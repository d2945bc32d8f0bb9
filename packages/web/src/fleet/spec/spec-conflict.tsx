/** Two changes of one specification at the same time: what differs between them, and which one stays. */
import { leavesOf, type Runtime, type RuntimeLayer } from '@windlass/protocol'
import type { ReactElement } from 'react'
import { Button } from '../../parts/button.tsx'
import { Table } from '../../parts/table.tsx'
import { When } from '../../parts/when.tsx'
import { useOff } from '../../shell/use-off.ts'
import styles from '../fleet.module.css'
import { writeValue } from './spec-values.ts'

interface ConflictProps {
  /** The version that the own text is based on. */
  readonly base: Runtime
  /** The version that the server has now. */
  readonly theirs: Runtime
  readonly mine: RuntimeLayer
  readonly isBusy: boolean
  readonly onBack: () => void
  readonly onTakeTheirs: () => void
  readonly onKeepMine: () => void
}

export function SpecConflict({ base, theirs, mine, isBusy, onBack, onTakeTheirs, onKeepMine }: ConflictProps): ReactElement {
  const off = useOff('manage-runners')
  const rows = differences(base.spec, theirs.spec, mine)
  return (
    <section className={styles['stack']} aria-label="Conflict" role="alert">
      <h2>Version {theirs.version} was saved meanwhile</h2>
      <p>
        <bdi>{theirs.changedBy}</bdi> changed the runtime <When at={theirs.updatedAt} />. Your text is based on version{' '}
        {base.version}. Nothing of yours is saved yet.
      </p>
      {rows.length === 0 ? (
        <p className="quiet">Both have the same values.</p>
      ) : (
        <Table
          caption="Values that differ"
          rows={rows}
          keyOf={({ path }) => path}
          columns={[
            { head: 'Field', cell: ({ path }) => <bdi className="mono">{path}</bdi> },
            { head: `Before (version ${base.version})`, cell: ({ before }) => <bdi className="mono">{before}</bdi> },
            { head: `Theirs (version ${theirs.version})`, cell: ({ their }) => <bdi className="mono">{their}</bdi> },
            { head: 'Yours', cell: ({ own }) => <bdi className="mono">{own}</bdi> },
          ]}
        />
      )}
      <div className={styles['buttons']}>
        <Button off={off} isBusy={isBusy} onClick={onKeepMine}>
          Save yours over version {theirs.version}
        </Button>
        <Button onClick={onTakeTheirs}>Drop yours and edit theirs</Button>
        <Button tone="quiet" onClick={onBack}>
          Back to your text
        </Button>
      </div>
    </section>
  )
}

interface Difference {
  readonly path: string
  readonly before: string
  readonly their: string
  readonly own: string
}

/** Returns the values in which two layers differ, with what they were before both. */
function differences(base: RuntimeLayer, theirs: RuntimeLayer, mine: RuntimeLayer): Difference[] {
  const [before, their, own] = [leavesOf(base), leavesOf(theirs), leavesOf(mine)]
  const text = (leaves: ReadonlyMap<string, unknown>, path: string): string =>
    leaves.has(path) ? writeValue(leaves.get(path)) : 'not set'
  return [...new Set([...their.keys(), ...own.keys()])]
    .toSorted()
    .map((path) => ({ path, before: text(before, path), their: text(their, path), own: text(own, path) }))
    .filter((one) => one.their !== one.own)
}

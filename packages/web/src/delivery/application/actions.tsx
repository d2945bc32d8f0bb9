/** What can be done with an application, each with the command that does the same. */
import type { ReactElement } from 'react'
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Check } from '../../parts/forms/choice.tsx'
import { Question } from '../../parts/forms/question.tsx'
import { sh } from '../../parts/shell.ts'
import { usePaletteActions } from '../../shell/palette/palette-actions.ts'
import { tell } from '../../shell/toasts.tsx'
import { delivery } from '../queries.ts'
import { lookOfHealth, lookOfSync } from '../states.ts'
import { SyncDialog } from './sync-dialog.tsx'
import { showLive, useNoChange, useNoOperation, type LiveApplication } from './use-live.ts'

/** Argo CD may take a minute to compare. Milliseconds. */
const REFRESH = { timeoutMs: 120_000 }

type Asked = 'sync' | 'refresh' | 'terminate'

export function Actions({ live }: { readonly live: LiveApplication }): ReactElement {
  const [asked, setAsked] = useState<Asked>()
  const noChange = useNoChange(live)
  const noSync = useNoOperation(live)
  const isBusy = live.now?.isBusy === true
  const noEnd = noChange ?? (isBusy ? undefined : 'No operation of the application is in progress.')
  const close = (): void => setAsked(undefined)
  const all = [
    { what: 'sync', label: 'Sync', off: noSync },
    { what: 'refresh', label: 'Refresh', off: noChange },
    { what: 'terminate', label: 'Terminate the sync', off: noEnd },
  ] as const
  usePaletteActions(() =>
    all.map(({ what, label, off }) => ({
      id: `application ${what}`,
      group: 'Actions',
      label,
      note: live.reported.name,
      off,
      run: () => setAsked(what),
    })),
  )
  return (
    <>
      {isBusy && (
        <Button tone="danger" off={noEnd} onClick={() => setAsked('terminate')}>
          Terminate the sync
        </Button>
      )}
      <Button off={noChange} onClick={() => setAsked('refresh')}>
        Refresh
      </Button>
      <Button tone="primary" off={noSync} onClick={() => setAsked('sync')}>
        Sync
      </Button>
      {asked === 'sync' && <SyncDialog live={live} off={noSync} onClose={close} />}
      {asked === 'refresh' && <RefreshDialog live={live} off={noChange} onClose={close} />}
      {asked === 'terminate' && <TerminateDialog live={live} off={noEnd} onClose={close} />}
    </>
  )
}

interface DialogProps {
  readonly live: LiveApplication
  readonly off: string | undefined
  readonly onClose: () => void
}

function RefreshDialog({ live: { id, reported }, off, onClose }: DialogProps): ReactElement {
  const [hard, setHard] = useState(false)
  const { runtime, name } = reported
  const refresh = async (): Promise<void> => {
    const app = await delivery.applications.refresh(id, { hard }, REFRESH)
    showLive(id, app)
    tell({ text: `${name} is refreshed: ${lookOfHealth(app.health).word}, ${lookOfSync(app.sync).word.toLowerCase()}.` })
  }
  return (
    <Question
      title={`Refresh ${name}?`}
      verb={hard ? 'Hard refresh' : 'Refresh'}
      tone="primary"
      off={off}
      onDo={refresh}
      onClose={onClose}
    >
      <p>
        Argo CD compares the cluster with the source again. Nothing changes in the cluster, unless the application syncs by
        itself.
      </p>
      <Check label="Hard refresh: load the manifests again, also of the same commit" isOn={hard} onChange={setHard} />
      <Command text={sh`windlass gitops app refresh ${runtime} ${name} ${hard ? ['--hard'] : []}`} />
    </Question>
  )
}

function TerminateDialog({ live: { id, reported }, off, onClose }: DialogProps): ReactElement {
  const { runtime, name } = reported
  return (
    <Question
      title={`Terminate the sync of ${name}?`}
      verb="Terminate the sync"
      off={off}
      onDo={async () => showLive(id, await delivery.applications.terminate(id))}
      onClose={onClose}
    >
      <p>Objects that it has applied stay as they are. Its hooks are ended.</p>
      <Command text={sh`windlass gitops app terminate ${runtime} ${name} --wait`} />
    </Question>
  )
}

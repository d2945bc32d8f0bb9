/** Lists the keys that work on the screen that is shown. A key of a later group replaces the same key of an earlier one. */
import type { ReactElement } from 'react'
import { Dialog } from '../parts/floating/dialog.tsx'
import { useStore } from '../server/store.ts'
import { setSingleKeys, singleKeys, useShortcutGroups, type ShortcutGroup } from './shortcuts.ts'
import styles from './shell.module.css'

function isReplaced(later: readonly ShortcutGroup[], wanted: string): boolean {
  return later.some(({ shortcuts }) => shortcuts.some(({ keys }) => keys === wanted))
}

export function Help({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): ReactElement {
  const groups = useShortcutGroups()
  const hasSingleKeys = useStore(singleKeys)
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Keys of this page" isWide>
      <div className={styles['keys']}>
        {groups.map(({ name, shortcuts }, index) => (
          <section key={index}>
            <h3>{name}</h3>
            <dl>
              {shortcuts
                .filter(({ keys }) => !isReplaced(groups.slice(index + 1), keys))
                .map(({ keys, does }) => (
                  <div key={keys}>
                    <dt>
                      {keys.split(' ').map((key) => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </dt>
                    <dd>{does}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
      <label className={styles['check']}>
        <input type="checkbox" checked={hasSingleKeys} onChange={(event) => setSingleKeys(event.target.checked)} />
        Single keys work outside of fields
      </label>
    </Dialog>
  )
}

/** Where a call comes from: the other end of its connection, or whom a proxy that is trusted names. */

import { BlockList, isIPv6 } from 'node:net';

interface Request {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** Anybody can write the header: only what a trusted proxy has added to it counts, read from its end. */
export function clientAddresses(proxies: readonly string[]): (request: Request) => string {
  const trusted = new BlockList();
  for (const proxy of proxies) add(trusted, proxy);
  return ({ headers, socket }) => {
    let address = plain(socket.remoteAddress ?? '');
    const named = String(headers['x-forwarded-for'] ?? '').split(',');
    while (named.length > 0 && isIn(trusted, address)) address = plain(named.pop()?.trim() ?? '') || address;
    return address;
  };
}

function add(list: BlockList, text: string): void {
  const [address = '', bits] = text.split('/');
  if (bits === undefined) list.addAddress(address, familyOf(address));
  else list.addSubnet(address, Number(bits), familyOf(address));
}

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}

/** An IPv4 address may be written as one of IPv6. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

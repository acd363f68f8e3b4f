/**
 * Whether an IP address is inside: this machine, its network, what a cloud tells its machines, or nobody's. Whatever
 * is not known to be outside counts as inside.
 */

type Range = readonly [base: string, bits: number];

const INNER_V4: readonly Range[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // Azure's own service for its machines, in the middle of public addresses.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  // Multicast, reserved and broadcast.
  ['224.0.0.0', 3],
];

/** As a URL or the resolver writes it: IPv4 with dots, or IPv6 with or without brackets and zone. */
export function isInner(address: string): boolean {
  const text = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  const v4 = v4Of(text);
  if (v4 !== null) return isInnerV4(v4);
  const groups = groupsOf(text);
  return groups === null || isInnerV6(groups);
}

/** Whether a host of a URL is an address at all, and not a name. */
export function isAddress(host: string): boolean {
  return host.startsWith('[') || v4Of(host) !== null || host.includes(':');
}

function isInnerV4(address: number): boolean {
  return INNER_V4.some(([base, bits]) => {
    const shift = 32 - bits;
    // Shifts of JavaScript are signed and stop at 31; a division is neither.
    return Math.floor(address / 2 ** shift) === Math.floor((v4Of(base) ?? 0) / 2 ** shift);
  });
}

/** Of IPv6 only global unicast is outside, without the parts that carry another address or belong to nobody. */
function isInnerV6(groups: readonly number[]): boolean {
  const [first = 0, second = 0] = groups;
  const carried = ((groups[6] ?? 0) * 65_536 + (groups[7] ?? 0)) >>> 0;
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  const isTranslated =
    first === 0x64 && second === 0xff9b && groups.slice(2, 6).every((group) => group === 0);
  if (isMapped || isTranslated) return isInnerV4(carried);
  if (first < 0x2000 || first > 0x3fff) return true;
  // Teredo and other special uses, documentation, and 6to4.
  if (first === 0x2001) return second < 0x200 || second === 0xdb8;
  return first === 0x2002 || (first === 0x3fff && second < 0x1000);
}

function v4Of(text: string): number | null {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return null;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

/** The eight groups; null when it is no IPv6 address. */
function groupsOf(text: string): number[] | null {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const v4 = dotted === null ? null : v4Of(dotted[2] ?? '');
  if (dotted !== null && v4 === null) return null;
  const plain =
    v4 === null ? text : `${dotted?.[1]}${(v4 >>> 16).toString(16)}:${(v4 & 0xffff).toString(16)}`;
  const [head = '', tail, ...more] = plain.split('::');
  if (more.length > 0) return null;
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const missing = 8 - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return null;
  const all = [...before, ...Array.from({ length: missing }, () => '0'), ...after];
  return all.every((group) => /^[0-9a-f]{1,4}$/i.test(group))
    ? all.map((group) => parseInt(group, 16))
    : null;
}
